// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/stack_effects.h"

namespace stab::instrumenter {
namespace {

using Does = Instruction::Does;

constexpr Registers arguments = 0b0000'0011'1100'0110;  // rdi, rsi, rdx, rcx, r8, r9

class Step {
 public:
  Step(const Instruction& next, std::uint32_t own_base, bool compiled, StackState& state)
      : next_(next), own_base_(own_base), compiled_(compiled), state_(state) {}

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
    if (!compiled_) state_.words.give_away(value);
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
      if (has(lost_by_calls, i)) state_.registers[i] = {};
    }
    state_.words.forget_below(state_.rsp());
    state_.words.overwrite_given_away();
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
  StackState& state_;
};

}  // namespace

bool carry_out(const Instruction& instruction, std::uint32_t own_base, bool compiled,
               StackState& state) {
  return Step(instruction, own_base, compiled, state).run();
}

}  // namespace stab::instrumenter
