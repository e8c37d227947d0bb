// SPDX-License-Identifier: MIT
// What is known of the stack pointer, the other registers and the words that hold places of the
// stack, at one instruction.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "instrumenter/postlink/decode/stack_moves.h"

namespace stab::instrumenter {

// A place of the own stack is a distance from a *base*: where the stack pointer was on entry (base
// 0), or where it was after an instruction had aligned or lowered it by an unknown number (base
// n + 1: instruction n, when it ran last; with the bit `aligned` if it has aligned it).
struct StackValue {
  enum class Kind : std::uint8_t {
    unknown,
    own,    // a place of the own stack
    mixed,  // made of such a place and other things: as an address, it may be any near that base
  };
  static constexpr std::uint32_t no_base = UINT32_MAX;           // one of several
  static constexpr std::uint32_t lowered_base = UINT32_MAX - 1;  // the same, but not base 0
  static constexpr std::uint32_t aligned = 1U << 31U;
  static constexpr std::int64_t anywhere = INT64_MAX / 4;  // further than any distance
  Kind kind = Kind::unknown;
  bool exact = true;  // false: one from `distance` to `highest`
  std::uint32_t base = 0;
  std::int64_t distance = 0;
  std::int64_t highest = 0;
  bool operator==(const StackValue&) const = default;

  static StackValue at(std::uint32_t base, std::int64_t distance) {
    return {Kind::own, true, base, distance, distance};
  }
  static StackValue between(std::uint32_t base, std::int64_t lowest, std::int64_t highest) {
    return {Kind::own, false, base, lowest, highest};
  }
  static StackValue somewhere(std::uint32_t base) { return between(base, -anywhere, anywhere); }
  static StackValue made_of(std::uint32_t base) { return {Kind::mixed, false, base, 0, 0}; }
  [[nodiscard]] bool is_own() const { return kind == Kind::own; }
  [[nodiscard]] bool is_involved() const { return kind != Kind::unknown; }
  [[nodiscard]] bool has_base() const { return base < lowered_base; }
  [[nodiscard]] bool may_have_base(std::uint32_t other) const;
  [[nodiscard]] bool is_place() const { return is_own() && exact; }
  [[nodiscard]] StackValue plus(std::int64_t number) const {
    if (!is_own() || highest == anywhere) return *this;
    return {kind, exact, base, distance + number, highest + number};
  }
};

// What is known where two paths of control meet, of which `a` was known before.
StackValue join(const StackValue& a, const StackValue& b);

// What an instruction that is not understood makes of both.
StackValue mix(const StackValue& a, const StackValue& b);

// Words of the own stack that hold such places, or may hold one: what may have been written over is
// mixed from then on, and so is what others may write, because they were given the address of
// something below in the frame, when they run. A pushed word is no part of
// an object: they do not come to it unless they were given its own address, as they do not come to a
// return address.
class StackWords {
 public:
  bool operator==(const StackWords&) const = default;
  void join(const StackWords& other);

  [[nodiscard]] StackValue read(const StackValue& place) const;
  // `pushed`: no object of the program lies there.
  void write(const StackValue& place, const StackValue& value, bool pushed);
  // So many bytes from there, and of what was not pushed anything near it if it is not exact; or
  // anything near it.
  void overwrite(const StackValue& place, std::uint32_t bytes);
  void overwrite_near(const StackValue& place);
  void give_away(const StackValue& place);
  void overwrite_given_away();
  // Forgets the words below, where the frame of a called function will lie.
  void forget_below(const StackValue& stack_pointer);
  // The base is another place from now on.
  void forget_base(std::uint32_t base);

 private:
  struct Word {
    std::uint32_t base = 0;
    std::int64_t distance = 0;
    StackValue value;
    bool pushed = false;
    bool operator==(const Word&) const = default;
  };
  struct Given {
    std::uint32_t base = 0;
    std::int64_t lowest = StackValue::anywhere;
    std::vector<std::int64_t> places{};
    std::int64_t first = StackValue::anywhere;  // of those that are not exact
    std::int64_t last = -StackValue::anywhere;
    bool operator==(const Given&) const = default;
  };
  static void spoil(Word& word);
  void sort();
  void add_given(const Given& more);

  std::vector<Word> words_;
  std::vector<Given> given_;  // by base
};

struct StackState {
  std::array<StackValue, register_count> registers{};
  StackWords words;
  bool operator==(const StackState&) const = default;
  void join(const StackState& other);
  void forget_base(std::uint32_t base);
  [[nodiscard]] StackValue& rsp() { return registers[rsp_number]; }
  [[nodiscard]] const StackValue& rsp() const { return registers[rsp_number]; }
};

// When a function is entered.
StackState state_on_entry();

}  // namespace stab::instrumenter
