// SPDX-License-Identifier: MIT
#include "runtime/walk/frame.h"

#include "runtime/walk/expression.h"
#include "runtime/walk/memory.h"

namespace stab::rt {
namespace {

// What a call preserves: rbx, rbp, r12 to r15.
constexpr uint32_t preserved = 1u << 3 | 1u << rbp | 0xf000u;

bool is_preserved(uint32_t number) {
  return (preserved >> number & 1) != 0;
}

uint64_t* word_at(uint64_t address) {
  return reinterpret_cast<uint64_t*>(address);
}

// The frame that the walk is at, and the one above it as far as it is known.
class Unwinding {
 public:
  Unwinding(Walk& walk, const Row& row, bool signal_frame)
      : walk_(walk), row_(row), signal_frame_(signal_frame) {}

  bool run(Walk& caller) {
    if (!find_cfa() || !find_return_address(caller)) return false;
    if (!signal_frame_ && !cfa_is_above()) return false;
    for (uint32_t number = 0; number < register_count; ++number) find_register(caller, number);
    caller.interrupted = signal_frame_;
    return find_stack_pointer(caller);
  }

 private:
  bool find_cfa() {
    if (row_.cfa_is_expression)
      return evaluate(walk_, expression_of(walk_.description, row_.cfa_number), nullptr, cfa_);
    if (!walk_.registers.is_known(row_.cfa_register)) return false;
    cfa_ = walk_.registers.value[row_.cfa_register] + static_cast<uint64_t>(row_.cfa_number);
    return true;
  }

  // Only a function that has taken its return address off the stack has no frame at all.
  [[nodiscard]] bool cfa_is_above() const {
    const uint64_t stack_pointer = walk_.registers.value[rsp];
    const bool leaf = walk_.interrupted && row_.rules[return_column] == Rule::other;
    return cfa_ % 8 == 0 && (cfa_ > stack_pointer || (leaf && cfa_ == stack_pointer)) &&
           cfa_ - walk_.readable_start < most_stack;
  }

  // A frame lies between its stack pointer and its CFA.
  [[nodiscard]] bool in_frame(uint64_t address) const {
    const uint64_t stack_pointer = walk_.registers.value[rsp];
    const uint64_t low = walk_.interrupted ? stack_pointer - red_zone : stack_pointer;
    return address >= low && (signal_frame_ || address < cfa_);
  }

  // Where the value of a column is in memory.
  bool find_slot(uint32_t column, uint64_t& address, uint64_t& value) {
    const int32_t number = row_.numbers[column];
    if (row_.rules[column] == Rule::offset)
      address = cfa_ + static_cast<uint64_t>(number);
    else if (row_.rules[column] != Rule::expression ||
             !evaluate(walk_, expression_of(walk_.description, number), &cfa_, address))
      return false;
    return in_frame(address) && read_stack(walk_, address, value);
  }

  bool find_return_address(Walk& caller) {
    if (row_.rules[return_column] == Rule::other) {
      const auto number = static_cast<uint32_t>(row_.numbers[return_column]);
      if (number >= register_count || !walk_.registers.is_known(number)) return false;
      caller.pc = walk_.registers.value[number];
      caller.pc_slot = walk_.saved[number];
      return caller.pc_slot != nullptr;
    }
    uint64_t address = 0;
    if (!find_slot(return_column, address, caller.pc)) return false;
    caller.pc_slot = word_at(address);
    return address >= walk_.registers.value[rsp];
  }

  void find_register(Walk& caller, uint32_t number) {
    switch (row_.rules[number]) {
      case Rule::unspecified:
        return is_preserved(number) ? keep(caller, number, number) : lose(caller, number);
      case Rule::same:
        return keep(caller, number, number);
      case Rule::offset:
      case Rule::expression:
        return load(caller, number);
      case Rule::other: {
        const auto from = static_cast<uint32_t>(row_.numbers[number]);
        return from < register_count ? keep(caller, number, from) : lose(caller, number);
      }
      case Rule::value_offset:
        lose(caller, number);
        return caller.registers.set(number, cfa_ + static_cast<uint64_t>(row_.numbers[number]));
      case Rule::value_formula:
      case Rule::undefined:
        return lose(caller, number);
    }
  }

  static void lose(Walk& caller, uint32_t number) {
    caller.registers.forget(number);
    caller.saved[number] = nullptr;
  }

  void keep(Walk& caller, uint32_t number, uint32_t from) {
    lose(caller, number);
    caller.saved[number] = walk_.saved[from];
    if (walk_.registers.is_known(from)) caller.registers.set(number, walk_.registers.value[from]);
  }

  void load(Walk& caller, uint32_t number) {
    uint64_t address = 0;
    uint64_t value = 0;
    if (!find_slot(number, address, value)) return lose(caller, number);
    // Below the stack pointer it was popped, and is a register again.
    const bool popped = address < walk_.registers.value[rsp] && walk_.registers.is_known(number) &&
                        walk_.registers.value[number] == value;
    if (popped) return keep(caller, number, number);
    caller.registers.set(number, value);
    caller.saved[number] = word_at(address);
  }

  // The CFA is by definition the caller's, and only signal frames say anything else.
  bool find_stack_pointer(Walk& caller) const {
    if (row_.rules[rsp] != Rule::unspecified)
      return signal_frame_ && caller.registers.is_known(rsp);
    lose(caller, rsp);
    caller.registers.set(rsp, cfa_);
    return true;
  }

  Walk& walk_;
  const Row& row_;
  const bool signal_frame_;
  uint64_t cfa_ = 0;
};

}  // namespace

bool unwind_frame(Walk& walk, const Row& row, bool signal_frame, Walk& caller) {
  return Unwinding(walk, row, signal_frame).run(caller);
}

}  // namespace stab::rt
