// SPDX-License-Identifier: MIT
// Describes what is known at one instruction about the stack pointer, the other registers, and the
// words that hold addresses of the stack.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "instrumenter/postlink/decode/instruction.h"

namespace stab::instrumenter {

// A place of the function's own stack is a distance from a *base*. Base 0 is where the stack
// pointer was on entry. Base n + 1 is where the stack pointer was after the last run of
// instruction n, which aligned it or lowered it by an unknown number; the bit `aligned` is set if
// it aligned it.
struct StackValue {
  enum class Kind : std::uint8_t {
    unknown,
    own,    // a place of the function's own stack
    mixed,  // made of such a place and other things; as an address, it may be any near that base
  };
  static constexpr std::uint32_t no_base = UINT32_MAX;           // one of several bases
  static constexpr std::uint32_t lowered_base = UINT32_MAX - 1;  // one of several bases, but not 0
  static constexpr std::uint32_t aligned = 1U << 31U;
  static constexpr std::int64_t anywhere = INT64_MAX / 4;  // further than any distance
  Kind kind = Kind::unknown;
  bool exact = true;  // false: a distance from `distance` to `highest`
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

// Merges what is known where two paths of control meet. `a` was known before.
StackValue join(const StackValue& a, const StackValue& b);

// Describes the result of an instruction that works on both and is not understood.
StackValue mix(const StackValue& a, const StackValue& b);

// The words of the function's own stack that hold such places, or may hold one. A word becomes
// mixed if it may have been overwritten. It also becomes mixed when code runs that was given the
// address of something below it in the frame, because that code may write to it. A pushed word is
// not part of an object: other code does not reach it without its own address, just as it does not
// reach a return address.
class StackWords {
 public:
  bool operator==(const StackWords&) const = default;
  void join(const StackWords& other);

  [[nodiscard]] StackValue read(const StackValue& place) const;
  // `pushed`: no object of the program lies there.
  void write(const StackValue& place, const StackValue& value, bool pushed);
  // Overwrites `bytes` bytes from `place` on. If `place` is not exact, any word of that base may
  // be overwritten unless it was pushed. overwrite_near() may overwrite any word near `place`.
  void overwrite(const StackValue& place, std::uint32_t bytes);
  void overwrite_near(const StackValue& place);
  void give_away(const StackValue& place);
  void overwrite_given_away();
  // Forgets the words below the stack pointer, where the frame of a called function will lie.
  void forget_below(const StackValue& stack_pointer);
  // Call this when the base becomes another place.
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
    std::int64_t first = StackValue::anywhere;  // the range of places that are not exact
    std::int64_t last = -StackValue::anywhere;
    bool operator==(const Given&) const = default;
  };
  static void spoil(Word& word);
  void sort();
  void add_given(const Given& more);

  std::vector<Word> words_;
  std::vector<Given> given_;  // sorted by base
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

// Returns the state at the entry of a function.
StackState state_on_entry();

}  // namespace stab::instrumenter
