// SPDX-License-Identifier: MIT
// Follows addresses of the stack through registers and words: first what is known at one
// instruction, then the search that applies all instructions to it.
#include "instrumenter/postlink/decode/stack_switches.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "instrumenter/postlink/decode/decoder.h"

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

// Facts that hold at one instruction about the stack pointer, the other registers, and the words that
// hold addresses of the stack.
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

namespace {

StackValue join_near(const StackValue& a, const StackValue& b) {
  const std::int64_t lowest = std::min(a.distance, b.distance);
  const std::int64_t highest = std::max(a.highest, b.highest);
  // Only a few values are exact, so repeated joins in a loop come to an end.
  if (a.exact || b.exact) return StackValue::between(a.base, lowest, highest);
  const bool is_inside = lowest == a.distance && highest == a.highest;
  return is_inside ? a : StackValue::somewhere(a.base);
}

// An aligned base may be where the stack pointer was before.
bool is_lowered(std::uint32_t base) {
  return base == StackValue::lowered_base || (base != 0 && (base & StackValue::aligned) == 0);
}

std::uint32_t one_of(std::uint32_t base) {
  return is_lowered(base) ? StackValue::lowered_base : StackValue::no_base;
}

std::uint32_t join_bases(std::uint32_t a, std::uint32_t b) {
  if (a == b) return a;
  return is_lowered(a) && is_lowered(b) ? StackValue::lowered_base : StackValue::no_base;
}

void forget_base_of(StackValue& value, std::uint32_t base) {
  if (!value.is_involved() || value.base != base) return;
  value = value.is_own() ? StackValue::somewhere(one_of(base)) : StackValue::made_of(one_of(base));
}

}  // namespace

bool StackValue::may_have_base(std::uint32_t other) const {
  return base == other || base == no_base || (base == lowered_base && other != 0);
}

StackValue join(const StackValue& a, const StackValue& b) {
  if (a == b) return a;
  if (!a.is_own() || !b.is_own()) return mix(a, b);
  return a.base == b.base ? join_near(a, b) : StackValue::somewhere(join_bases(a.base, b.base));
}

StackValue mix(const StackValue& a, const StackValue& b) {
  if (!a.is_involved()) return b.is_involved() ? StackValue::made_of(b.base) : StackValue{};
  return StackValue::made_of(b.is_involved() ? join_bases(a.base, b.base) : a.base);
}

void StackWords::join(const StackWords& other) {
  const auto at_same_place = [](std::vector<Word>& words, const Word& word) {
    return std::ranges::find_if(
        words, [&](const Word& w) { return w.base == word.base && w.distance == word.distance; });
  };
  std::vector<Word> others = other.words_;
  for (Word& word : words_) {
    const auto same = at_same_place(others, word);
    if (same == others.end()) {
      spoil(word);
      continue;
    }
    word.value = instrumenter::join(word.value, same->value);
    word.pushed = word.pushed && same->pushed;
    others.erase(same);
  }
  for (Word& word : others) {
    spoil(word);
    words_.push_back(word);
  }
  sort();
  for (const Given& more : other.given_) add_given(more);
}

void StackWords::spoil(Word& word) {
  word.value = StackValue::made_of(word.value.base);
  word.pushed = false;
}

void StackWords::sort() {
  std::ranges::sort(words_, [](const Word& a, const Word& b) {
    return a.base != b.base ? a.base < b.base : a.distance < b.distance;
  });
}

StackValue StackWords::read(const StackValue& place) const {
  if (!place.is_place()) return {};
  const auto found = std::ranges::find_if(words_, [&](const Word& word) {
    return word.base == place.base && word.distance == place.distance;
  });
  return found == words_.end() ? StackValue{} : found->value;
}

void StackWords::write(const StackValue& place, const StackValue& value, bool pushed) {
  if (!place.is_place()) return overwrite_near(place);
  overwrite(place, 8);
  if (value.is_involved()) words_.push_back({place.base, place.distance, value, pushed});
  sort();
}

void StackWords::overwrite(const StackValue& place, std::uint32_t bytes) {
  if (!place.is_own() || !place.has_base()) return overwrite_near(place);
  std::erase_if(words_, [&](Word& word) {
    if (word.base != place.base) return false;
    const bool there = word.distance < place.highest + bytes && word.distance + 8 > place.distance;
    if (there || !(place.exact || word.pushed)) spoil(word);
    return place.exact && word.distance >= place.distance &&
           word.distance + 8 <= place.distance + bytes;
  });
}

void StackWords::overwrite_near(const StackValue& place) {
  if (!place.is_involved()) return;
  for (Word& word : words_)
    if (place.may_have_base(word.base)) spoil(word);
}

void StackWords::add_given(const Given& more) {
  auto at = std::ranges::lower_bound(given_, more.base, {}, &Given::base);
  if (at == given_.end() || at->base != more.base) at = given_.insert(at, {.base = more.base});
  at->lowest = std::min(at->lowest, more.lowest);
  at->first = std::min(at->first, more.first);
  at->last = std::max(at->last, more.last);
  std::vector<std::int64_t> places;
  std::ranges::set_union(at->places, more.places, std::back_inserter(places));
  at->places = std::move(places);
}

void StackWords::give_away(const StackValue& place) {
  if (!place.is_involved()) return;
  if (place.exact) return add_given({place.base, place.distance, {place.distance}});
  const bool near = place.is_own() && place.highest != StackValue::anywhere;
  Given some{.base = place.base, .lowest = -StackValue::anywhere};
  if (near) some.first = place.distance, some.last = place.highest;
  add_given(some);
}

void StackWords::overwrite_given_away() {
  const auto reaches = [](const Given& given, const Word& word) {
    if (!StackValue::made_of(given.base).may_have_base(word.base)) return false;
    if (!word.pushed) return given.lowest <= word.distance;
    return std::ranges::binary_search(given.places, word.distance) ||
           (given.first <= word.distance && word.distance <= given.last);
  };
  for (Word& word : words_)
    if (std::ranges::any_of(given_, [&](const Given& given) { return reaches(given, word); }))
      spoil(word);
}

void StackWords::forget_below(const StackValue& stack_pointer) {
  if (!stack_pointer.is_own()) return words_.clear();
  std::erase_if(words_, [&](const Word& word) {
    if (word.base != stack_pointer.base) return stack_pointer.base == 0;
    return stack_pointer.exact && word.distance < stack_pointer.distance;
  });
}

void StackWords::forget_base(std::uint32_t base) {
  std::erase_if(words_, [&](Word& word) {
    if (word.base == base) return true;
    forget_base_of(word.value, base);
    return false;
  });
  std::erase_if(given_, [&](const Given& given) { return given.base == base; });
}

void StackState::join(const StackState& other) {
  for (std::size_t i = 0; i < register_count; ++i)
    registers[i] = instrumenter::join(registers[i], other.registers[i]);
  words.join(other.words);
}

void StackState::forget_base(std::uint32_t base) {
  for (StackValue& value : registers) forget_base_of(value, base);
  words.forget_base(base);
}

StackState state_on_entry() {
  StackState state;
  state.rsp() = StackValue::at(0, 0);
  return state;
}

namespace {

using Does = Instruction::Does;

constexpr std::size_t rax_number = 0;
constexpr Registers arguments = 0b0000'0011'1100'0110;  // rdi, rsi, rdx, rcx, r8, r9

// The promises that the search relies on, besides the code.
enum class Trust : std::uint8_t {
  nothing,
  compiled,  // code that gets the address of an object in the frame writes to no other word of it
  // gcc knows which registers a function of the same file leaves alone, and may keep addresses in
  // registers that other calls lose.
  not_even_calls,
};

// Applies one instruction to a state. `own_base` is the base that the instruction creates if it
// aligns or lowers the stack pointer.
class Step {
 public:
  Step(const Instruction& next, std::uint32_t own_base, Trust trust, bool keeps_rax,
       StackState& state)
      : next_(next),
        own_base_(own_base),
        compiled_(trust == Trust::compiled),
        calls_may_keep_(trust == Trust::not_even_calls),
        keeps_rax_(keeps_rax),
        state_(state) {}

  // Returns false if the stack pointer may belong to another stack.
  bool run() {
    apply();
    return state_.rsp().is_own();
  }

 private:
  [[nodiscard]] StackValue value_of(std::uint8_t number) const {
    return number == no_register ? StackValue{} : state_.registers[number];
  }
  void set(std::uint8_t number, const StackValue& value) {
    if (number != no_register) state_.registers[number] = value;
  }

  // Returns the address of the memory operand, as far as it involves the function's own stack.
  [[nodiscard]] StackValue place() const {
    if (!next_.memory || next_.memory->foreign) return {};
    const Memory& memory = *next_.memory;
    const StackValue base = value_of(memory.base);
    const StackValue index = value_of(memory.index);
    if (!memory.is_indexed()) return base.plus(memory.displacement);
    if (base.is_own()) return StackValue::somewhere(base.base);
    return index.is_own() ? StackValue::somewhere(index.base) : mix(base, index);
  }

  void apply() {
    switch (next_.does) {
      case Does::nothing:
      case Does::ret:
        return;
      case Does::push:
        return push();
      case Does::pop:
        return pop();
      case Does::leave:
        state_.rsp() = value_of(rbp_number);
        return pop_to(rbp_number, 8);
      case Does::call:
        return call();
      default:
        break;
    }
    if (next_.copies()) return set(next_.to, value_of(next_.from));
    if (next_.loads())
      return set(next_.to, is_bottom(place()) ? StackValue{} : state_.words.read(place()));
    if (next_.stores()) return store();
    if (next_.is_whole(Does::address)) return set(next_.to, address());
    if (const auto number = next_.added()) return set(next_.to, value_of(next_.to).plus(*number));
    if (next_.alignment()) return align();
    if (next_.lowers()) return lower();
    do_other();
  }

  void align() {
    if (value_of(next_.to).is_own()) begin_base(own_base_ | StackValue::aligned);
  }

  // A stack pointer that the function saves in its frame is not the address of an object.
  void store() {
    const StackValue value = value_of(next_.from);
    if (value != state_.rsp() || !place().is_own()) give_away(value);
    write_memory();
    if (place().is_place()) state_.words.write(place(), value, is_like_push(value));
  }

  // Whether `where` is the address to which aligning or lowering set the stack pointer.
  static bool is_bottom(const StackValue& where) {
    return where.base != 0 && where == StackValue::at(where.base, 0);
  }

  // nasm's code saves the stack pointer in such a place and pops it. Code that loads it instead
  // may have passed on the address of an object that ends with this word.
  [[nodiscard]] bool is_like_push(const StackValue& value) const {
    const StackValue where = place();
    return where == state_.rsp() && is_bottom(where) && where.base != value.base;
  }

  void write_memory() {
    const StackValue where = place();
    const bool by_itself = where.is_own() && !next_.memory->is_indexed() && !compiled_;
    if (where.is_place() || by_itself)
      state_.words.overwrite(where, next_.stored());
    else if (!compiled_)
      overwrite_unknown(where);
  }

  void overwrite_unknown(const StackValue& where) {
    state_.words.overwrite_near(where);
    if (!where.is_own()) state_.words.overwrite_given_away();
  }

  void give_away(const StackValue& value) {
    if (!compiled_ && (value.is_own() || !calls_may_keep_)) state_.words.give_away(value);
  }

  [[nodiscard]] StackValue address() const {
    const Memory& memory = *next_.memory;
    return memory.is_indexed() ? mix(value_of(memory.base), value_of(memory.index)) : place();
  }

  void begin_base(std::uint32_t base) {
    state_.forget_base(base);
    set(next_.to, StackValue::at(base, 0));
  }

  void lower() {
    const StackValue number = value_of(next_.from);
    const StackValue before = value_of(next_.to);
    if (before.is_own() && !number.is_involved()) return begin_base(own_base_);
    set(next_.to, mix(before, number));
  }

  void push() {
    const StackValue value = value_of(next_.from);
    if (value != state_.rsp()) give_away(value);
    state_.rsp() = state_.rsp().plus(-*next_.number);
    state_.words.write(state_.rsp(), *next_.number == 8 ? value : StackValue{}, true);
  }

  void pop() {
    pop_to(next_.to, *next_.number);
    if (next_.memory) write_memory();
  }

  void pop_to(std::uint8_t number, std::int64_t bytes) {
    const StackValue value = bytes == 8 ? state_.words.read(state_.rsp()) : StackValue{};
    state_.rsp() = state_.rsp().plus(bytes);
    set(number, value);
  }

  void call() {
    for (std::size_t i = 0; i < register_count; ++i) {
      if (has(arguments, i)) give_away(state_.registers[i]);
      if (has(lost_by_calls, i)) lose(i);
    }
    state_.words.forget_below(state_.rsp());
    state_.words.overwrite_given_away();
  }

  void lose(std::size_t i) {
    StackValue& value = state_.registers[i];
    const bool kept = calls_may_keep_ && (i != rax_number || keeps_rax_) && value.is_involved();
    value = kept ? StackValue::made_of(value.base) : StackValue{};
  }

  void do_other() {
    const bool is_kernel = next_.does == Does::kernel;
    for (std::size_t i = 0; i < register_count; ++i) {
      if (has(next_.stores_by, i) && !compiled_) overwrite_unknown(state_.registers[i]);
      const bool passed = next_.passes_on && has(next_.reads, i);
      if (passed || (is_kernel && (has(arguments, i) || i == 10))) give_away(state_.registers[i]);
    }
    if (is_kernel) state_.words.overwrite_given_away();
    if (next_.stored() != 0) write_memory();
    StackValue made;
    for (std::size_t i = 0; i < register_count; ++i)
      if (has(next_.reads, i)) made = mix(made, state_.registers[i]);
    for (std::size_t i = 0; i < register_count; ++i)
      if (has(next_.writes, i)) state_.registers[i] = made;
  }

  const Instruction& next_;
  const std::uint32_t own_base_;
  const bool compiled_;
  const bool calls_may_keep_;
  const bool keeps_rax_;
  StackState& state_;
};

// Notes how one instruction after the other uses addresses of the stack.
class UseWatch {
 public:
  // `before` holds at the instruction, and `after` is the state that it leaves.
  void look_at(const Instruction& next, const StackState& before, const StackState& after) {
    const StackValue& rsp = before.rsp();
    const bool known = rsp.is_place() && rsp.base == 0;
    use_.below_entry.push_back(known ? std::optional(-rsp.distance) : std::nullopt);
    use_.is_followed &= known;
    lowest_ = known ? std::min(rsp.distance, after.rsp().distance) : StackValue::anywhere;
    if (next.memory) look_at_place(next, before);
    look_at_values(next, before, after);
    look_at_memory(next, before);
  }
  void pass_over() { use_.below_entry.emplace_back(); }

  StackUse take() {
    use_.remembers = stores_ && compares_;
    use_.is_followed &= !(enters_vector_ && leaves_vector_);
    return std::move(use_);
  }

 private:
  static StackValue value_of(const StackState& state, std::uint8_t number) {
    return number == no_register ? StackValue{} : state.registers[number];
  }

  // No object lies below the stack pointer. Such an address leads somewhere else once a number is
  // added to it.
  void note(const StackValue& place) {
    const bool known = place.is_own() && place.base == 0 && place.highest < StackValue::anywhere &&
                       place.distance >= lowest_;
    use_.is_followed &= known;
    if (known) use_.highest = std::max(use_.highest, place.highest);
  }

  void look_at_place(const Instruction& next, const StackState& before) {
    const Memory& memory = *next.memory;
    const StackValue base = value_of(before, memory.base);
    const StackValue index = value_of(before, memory.index);
    if (!base.is_involved() && !index.is_involved()) return;
    const bool is_address = next.does == Does::address;
    if (is_address && next.to == rsp_number && next.bits == 64 && !memory.is_indexed()) return;
    const bool simple = !memory.is_indexed() && !memory.foreign && next.does != Does::pop &&
                        !(is_address && next.bits != 64);
    use_.is_followed &= simple;
    if (simple) note(base.plus(memory.displacement));
  }

  void look_at_values(const Instruction& next, const StackState& before, const StackState& after) {
    if (next.does == Does::call) return;
    for (std::uint8_t i = 0; i < register_count; ++i) {
      const StackValue& value = before.registers[i];
      const bool by_itself =
          has(next.stores_by, i) || (next.does == Does::string && has(next.reads, i));
      if (by_itself && value.is_involved()) note(value);
      if (i == rsp_number || !has(next.writes, i) || !after.registers[i].is_involved()) continue;
      if (next.does == Does::string) continue;  // the end of what was noted
      look_at_made(next, after.registers[i]);
    }
  }

  // A value from another register or from memory was looked at when it was made, except for the
  // stack pointer itself.
  void look_at_made(const Instruction& next, const StackValue& made) {
    const bool moved =
        next.copies() || next.loads() || next.does == Does::pop || next.does == Does::leave;
    if (moved && !(made.is_own() && made.base == 0 && made.highest < StackValue::anywhere)) return;
    note(made);
  }

  void look_at_memory(const Instruction& next, const StackState& before) {
    unsigned own = 0;
    unsigned others = next.memory ? 1 : 0;
    for (std::size_t i = 0; i < register_count; ++i)
      if (has(next.reads, i)) ++(before.registers[i].is_involved() ? own : others);
    // It takes a value out of a vector register, where compilers may keep an address.
    leaves_vector_ |= next.does == Does::other && next.bits == 64 && next.to != no_register &&
                      next.reads == 0 && !next.memory;
    if (own == 0) return;
    if (next.does == Does::compare && !next.number && others != 0) compares_ = true;
    if (next.does == Does::push || next.does == Does::call || !next.passes_on) return;
    const bool inside = next.memory && (value_of(before, next.memory->base).is_involved() ||
                                        value_of(before, next.memory->index).is_involved());
    stores_ |= !inside;
    enters_vector_ |= !next.memory;
  }

  StackUse use_;
  std::int64_t lowest_ = StackValue::anywhere;  // where the stack pointer is
  bool stores_ = false;
  bool compares_ = false;
  bool enters_vector_ = false;
  bool leaves_vector_ = false;
};

class Search {
 public:
  Search(std::span<const CodePart> parts, Trust trust) : trust_(trust) {
    for (const CodePart& part : parts) {
      const std::size_t first = code_.size();
      for_each_instruction(part.code, part.start,
                           [&](const Instruction& next) { code_.push_back(next); });
      if (first == code_.size()) continue;
      starts_.push_back(first);
      if (part.is_entered) entries_.push_back(first);
      has_functions_ |= part.has_functions;
    }
    states_.resize(code_.size());
    waiting_.resize(code_.size());
    for (std::size_t i = 0; i < code_.size(); ++i) numbers_[code_[i].address] = i;
    for (const CodePart& part : parts)
      for (const std::uint32_t offset : part.jump_targets)
        if (const auto found = numbers_.find(part.start + offset); found != numbers_.end())
          targets_.push_back(found->second);
    std::ranges::sort(targets_);
    find_ends(parts);
    landings_.resize(code_.size(), none);
    for (const CodePart& part : parts)
      for (const Landing& landing : part.landings)
        if (const auto pad = numbers_.find(part.start + landing.pad); pad != numbers_.end())
          note_landing(part.start + landing.begin, part.start + landing.end, pad->second);
  }

  std::optional<std::uint64_t> run() {
    for (const std::size_t entry : entries_) reach(entry, state_on_entry());
    work();
    run_on_behind_ends();
    // Only a jump through a table or an exception can reach the rest.
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (states_[i] || code_[i].padding || is_dead(i)) continue;
      seeds_.push_back(i);
      reach(i, state_of_seeds(i));
      work();
    }
    return found_;
  }

  // Call this after run().
  [[nodiscard]] StackUse use() const {
    UseWatch watch;
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (!states_[i]) {
        watch.pass_over();
        continue;
      }
      StackState after = *states_[i];
      step(i, after).run();
      watch.look_at(code_[i], *states_[i], after);
    }
    return watch.take();
  }

 private:
  void find_ends(std::span<const CodePart> parts) {
    for (const CodePart& part : parts)
      for (const std::uint32_t offset : part.behind_ends)
        if (const auto found = numbers_.find(part.start + offset); found != numbers_.end())
          behind_ends_.push_back(found->second);
    for (const CodePart& part : parts)
      for (const std::uint32_t offset : part.behind_keepers)
        if (const auto found = numbers_.find(part.start + offset); found != numbers_.end())
          behind_keepers_.push_back(found->second);
    std::ranges::sort(behind_keepers_);
    for (const CodePart& part : parts)
      if (part.ends_in_nothing) void_ends_.push_back(part.start + part.code.size());
    std::ranges::sort(void_ends_);
    std::ranges::sort(behind_ends_);
    all_jumps_known_ = std::ranges::all_of(parts, &CodePart::landings_known) &&
                       std::ranges::none_of(code_, [](const Instruction& next) {
                         return next.does == Does::jump_anywhere;
                       });
  }

  [[nodiscard]] Step step(std::size_t i, StackState& state) const {
    const bool keeps_rax = std::ranges::binary_search(behind_keepers_, i + 1);
    return {code_[i], static_cast<std::uint32_t>(i) + 1, trust_, keeps_rax, state};
  }

  [[nodiscard]] bool is_behind_end(std::size_t i) const {
    return std::ranges::binary_search(behind_ends_, i);
  }

  // clang leaves a jump to the function's end behind such a call. Neither a table nor an exception
  // leads to that jump.
  [[nodiscard]] bool is_dead(std::size_t i) const {
    return all_jumps_known_ && is_behind_end(i) && code_[i].does == Does::jump;
  }

  void reach(std::size_t i, const StackState& state) {
    if (i >= code_.size()) return;
    if (!states_[i]) {
      states_[i] = state;
    } else {
      StackState joined = *states_[i];
      joined.join(state);
      if (joined == *states_[i]) return;
      states_[i] = joined;
    }
    if (waiting_[i]) return;
    waiting_[i] = true;
    pending_.push_back(i);
  }

  void work() {
    while (!pending_.empty()) {
      const std::size_t i = pending_.back();
      pending_.pop_back();
      waiting_[i] = false;
      go_on(i);
    }
  }

  // Code behind a call that never returns is reached in another way, or not at all. If nothing
  // reaches it, treat the call as if it returned.
  void run_on_behind_ends() {
    while (!ending_calls_.empty()) {
      const auto [call, state] = ending_calls_.back();
      ending_calls_.pop_back();
      if (call + 1 >= code_.size() || states_[call + 1]) continue;
      run_on(call, state);
      work();
    }
  }

  void report(std::size_t i) {
    if (!found_ || code_[i].address < *found_) found_ = code_[i].address;
  }

  void go_on(std::size_t i) {
    const Instruction& next = code_[i];
    StackState state = *states_[i];
    if (!step(i, state).run()) {
      report(i);
      state.rsp() = StackValue::somewhere(StackValue::no_base);
    }
    // With -fnon-call-exceptions, faults throw as well.
    if (trust_ == Trust::not_even_calls && next.does != Does::call) land(i, *states_[i]);
    switch (next.does) {
      case Does::end:
        return;
      case Does::ret:
        return leave(i, state);
      case Does::jump:
        return go_to(i, state);
      case Does::branch:
        go_to(i, state);
        return run_on(i, state);
      case Does::jump_anywhere:
        return jump_anywhere(state);
      case Does::call:
        call_inside(i, *states_[i]);
        land(i, state);
        add_to_pool(call_pool_, state);
        if (is_behind_end(i + 1))
          note_ending_call(i, state);
        else
          run_on(i, state);
        return;
      default:
        return run_on(i, state);
    }
  }

  void run_on(std::size_t i, const StackState& state) {
    if (i + 1 < code_.size() && code_[i + 1].address == code_[i].address + code_[i].length)
      reach(i + 1, state);
  }

  // On return, the stack pointer must be the one on entry plus a number. It must not be lower by
  // an unknown number.
  void leave(std::size_t i, const StackState& state) {
    if (state.rsp().base != 0) report(i);
  }

  void note_ending_call(std::size_t i, const StackState& state) {
    if (is_dead(i + 1)) return;
    for (auto& [call, before] : ending_calls_)
      if (call == i) return before.join(state);
    ending_calls_.push_back({i, state});
  }

  void go_to(std::size_t i, const StackState& state) {
    if (std::ranges::binary_search(void_ends_, code_[i].target)) return;
    const auto target = numbers_.find(code_[i].target);
    if (target == numbers_.end()) return leave(i, state);
    reach(target->second, state);
  }

  // The ranges that lead to landing pads do not overlap.
  void note_landing(std::uint64_t begin, std::uint64_t end, std::size_t pad) {
    const auto first = numbers_.find(begin);
    const bool begins = first != numbers_.end();
    for (std::size_t i = begins ? first->second : 0; i < code_.size(); ++i) {
      const bool inside = code_[i].address >= begin && code_[i].address < end;
      if (inside) landings_[i] = pad;
      if (!inside && begins) return;
    }
  }

  void land(std::size_t i, const StackState& state) {
    if (landings_[i] != none) reach(landings_[i], state);
  }

  // A call of a place inside the function learns where the code is, or acts as a jump. A call of a
  // part's start is recursion and does not count.
  void call_inside(std::size_t i, StackState state) {
    const auto target = numbers_.find(code_[i].target);
    if (code_[i].target == 0 || target == numbers_.end() ||
        std::ranges::find(starts_, target->second) != starts_.end() || has_functions_)
      return;
    state.rsp() = state.rsp().plus(-8);
    reach(target->second, state);
  }

  // A jump that leaves no frame behind is the call of another function.
  void jump_anywhere(const StackState& state) {
    if (state.rsp() == StackValue::at(0, 0)) return add_to_pool(tail_pool_, state);
    add_to_pool(pool_, state);
    for (const std::size_t target : targets_) reach(target, *pool_);
  }

  void add_to_pool(std::optional<StackState>& pool, const StackState& state) {
    StackState joined = pool.value_or(state);
    joined.join(state);
    if (pool && joined == *pool) return;
    pool = joined;
    for (const std::size_t seed : seeds_) reach(seed, state_of_seeds(seed));
  }

  [[nodiscard]] StackState state_of_seeds(std::size_t i) const {
    if (has_functions_) return state_on_entry();
    const bool is_target = std::ranges::binary_search(targets_, i);
    if (is_target || !call_pool_) return pool_.value_or(tail_pool_.value_or(state_on_entry()));
    StackState state = *call_pool_;
    if (targets_.empty() && pool_) state.join(*pool_);
    return state;
  }

  const Trust trust_;
  bool has_functions_ = false;
  std::vector<Instruction> code_;
  std::unordered_map<std::uint64_t, std::size_t> numbers_;
  std::vector<std::size_t> starts_;
  std::vector<std::size_t> entries_;
  std::vector<std::size_t> seeds_;  // only a table or an exception leads to these
  std::vector<std::optional<StackState>> states_;
  std::vector<bool> waiting_;
  std::vector<std::pair<std::size_t, StackState>> ending_calls_;  // calls not continued yet
  std::vector<std::uint64_t> void_ends_;
  std::vector<std::size_t> pending_;
  std::vector<std::size_t> targets_;
  std::vector<std::size_t> behind_ends_;
  std::vector<std::size_t> behind_keepers_;
  bool all_jumps_known_ = false;  // no jumps by registers, and no other landings
  static constexpr std::size_t none = SIZE_MAX;
  std::vector<std::size_t> landings_;    // by instruction: where an exception continues
  std::optional<StackState> pool_;       // the state at jumps to anywhere
  std::optional<StackState> tail_pool_;  // the state at such jumps that may be calls
  std::optional<StackState> call_pool_;  // the state after calls, where exceptions come from
  std::optional<std::uint64_t> found_;
};

}  // namespace

std::optional<std::uint64_t> find_switch(std::span<const CodePart> parts, bool compiled) {
  return Search(parts, compiled ? Trust::compiled : Trust::nothing).run();
}

StackUse find_stack_use(std::span<const CodePart> parts) {
  Search search(parts, Trust::not_even_calls);
  const bool switches = search.run().has_value();
  StackUse use = search.use();
  use.is_followed &= !switches;
  return use;
}

}  // namespace stab::instrumenter
