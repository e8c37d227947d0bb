// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/stack_effects.h"

namespace stab::instrumenter {
namespace {

using Kind = StackMove::Kind;

constexpr std::uint16_t lost_by_calls = 0b0000'1111'1100'0111;  // rax, rcx, rdx, rsi, rdi, r8-r11
constexpr std::uint16_t arguments = 0b0000'0011'1100'0110;      // rdi, rsi, rdx, rcx, r8, r9

bool has(std::uint16_t set, std::size_t number) {
  return (set >> number & 1U) != 0;
}

class Step {
 public:
  Step(const StackMove& move, std::uint32_t own_base, bool compiled, StackState& state)
      : move_(move), own_base_(own_base), compiled_(compiled), state_(state) {}

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
    const StackValue base = value_of(move_.base);
    const StackValue index = value_of(move_.index);
    if (move_.foreign) return {};
    if (move_.index == no_register) return base.plus(move_.displacement);
    if (base.is_own()) return StackValue::somewhere(base.base);
    return index.is_own() ? StackValue::somewhere(index.base) : mix(base, index);
  }

  void apply() {
    switch (move_.kind) {
      case Kind::copy:
        return set(move_.to, value_of(move_.from));
      case Kind::load:
        return set(move_.to, is_bottom(place()) ? StackValue{} : state_.words.read(place()));
      case Kind::store:
        return store();
      case Kind::address:
        return set(move_.to, address());
      case Kind::add:
        return set(move_.to, value_of(move_.to).plus(move_.value));
      case Kind::align:
        if (value_of(move_.to).is_own()) begin_base(own_base_ | StackValue::aligned);
        return;
      case Kind::lower:
        return lower();
      case Kind::push:
        return push();
      case Kind::pop:
        return pop();
      case Kind::leave:
        state_.rsp() = value_of(rbp_number);
        return pop_to(rbp_number);
      case Kind::call:
        return call();
      default:
        return do_other();
    }
  }

  // A stack pointer that the function saves in its frame is not the address of an object.
  void store() {
    const StackValue value = value_of(move_.from);
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
    const bool by_itself = where.is_own() && move_.index == no_register && !compiled_;
    if (where.is_place() || by_itself)
      state_.words.overwrite(where, move_.stored_bytes);
    else if (!compiled_)
      overwrite_unknown(where);
  }

  void overwrite_unknown(const StackValue& where) {
    state_.words.overwrite_near(where);
    if (!where.is_own()) state_.words.overwrite_given_away();
  }

  void give_away(const StackValue& value) {
    if (!compiled_) state_.words.give_away(value);
  }

  [[nodiscard]] StackValue address() const {
    if (move_.index == no_register) return place();
    return mix(value_of(move_.base), value_of(move_.index));
  }

  void begin_base(std::uint32_t base) {
    state_.forget_base(base);
    set(move_.to, StackValue::at(base, 0));
  }

  void lower() {
    const StackValue number = value_of(move_.from);
    const StackValue before = value_of(move_.to);
    if (before.is_own() && !number.is_involved()) return begin_base(own_base_);
    set(move_.to, mix(before, number));
  }

  void push() {
    const StackValue value = value_of(move_.from);
    if (value != state_.rsp()) give_away(value);
    state_.rsp() = state_.rsp().plus(-move_.value);
    state_.words.write(state_.rsp(), move_.value == 8 ? value : StackValue{}, true);
  }

  void pop() {
    pop_to(move_.to);
    if (move_.has_memory) write_memory();
  }

  void pop_to(std::uint8_t number) {
    const StackValue value = state_.words.read(state_.rsp());
    state_.rsp() = state_.rsp().plus(8);
    set(number, value);
  }

  void call() {
    for (std::size_t i = 0; i < register_count; ++i) {
      if (has(arguments, i)) give_away(state_.registers[i]);
      if (has(lost_by_calls, i)) state_.registers[i] = {};
    }
    state_.words.forget_below(state_.rsp());
    state_.words.overwrite_given_away();
  }

  void do_other() {
    for (std::size_t i = 0; i < register_count; ++i) {
      if (has(move_.stores_by, i) && !compiled_) overwrite_unknown(state_.registers[i]);
      const bool passed = move_.passes_on && has(move_.reads, i);
      if (passed || (move_.kernel && (has(arguments, i) || i == 10)))
        give_away(state_.registers[i]);
    }
    if (move_.kernel) state_.words.overwrite_given_away();
    if (move_.stored_bytes != 0) write_memory();
    StackValue made;
    for (std::size_t i = 0; i < register_count; ++i)
      if (has(move_.reads, i)) made = mix(made, state_.registers[i]);
    for (std::size_t i = 0; i < register_count; ++i)
      if (has(move_.writes, i)) state_.registers[i] = made;
  }

  const StackMove& move_;
  const std::uint32_t own_base_;
  const bool compiled_;
  StackState& state_;
};

}  // namespace

bool carry_out(const StackMove& move, std::uint32_t own_base, bool compiled, StackState& state) {
  return Step(move, own_base, compiled, state).run();
}

}  // namespace stab::instrumenter
