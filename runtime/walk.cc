// SPDX-License-Identifier: MIT
#include "runtime/walk.h"

#include "runtime/memory.h"
#include "runtime/walk_code.h"
#include "runtime/walk_expression.h"
#include "runtime/walk_memory.h"
#include "runtime/walk_rules.h"
#include "runtime/walk_signal.h"

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

uint64_t looked_up_pc(const Walk& walk) {
  return walk.interrupted ? walk.pc : walk.pc - 1;
}

bool at_trampoline(Walk& walk) {
  uint8_t code[longest_trampoline + 7];
  // Most code differs in its first byte.
  if (!read_code(walk, walk.pc, code, 1)) return false;
  if (code[0] != 0x48 && code[0] != 0xb8 && code[0] != 0x0f) return false;
  uint32_t count = 2;
  while (count <= longest_trampoline && read_code(walk, walk.pc, code, count)) ++count;
  if (is_trampoline(code, count - 1)) return true;
  uint32_t before = 7;
  while (before >= 5 && !read_code(walk, walk.pc - before, code, before + 2)) --before;
  return walk.interrupted && before >= 5 && is_trampoline_end(code + before, before);
}

void look_up(Walk& walk, FindDescription find, void* context) {
  walk.place = find(looked_up_pc(walk), walk.description, context) ? Walk::Place::described
                                                                   : Walk::Place::unknown;
  if (at_trampoline(walk)) walk.place = Walk::Place::trampoline;
}

bool follows_call(Walk& walk) {
  uint8_t code[longest_call];
  for (uint32_t count = longest_call; count >= 2; --count)
    if (read_code(walk, walk.pc - count, code, count)) return ends_with_call(code + count, count);
  return false;
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

bool read_row(const Walk& walk, Row& row, bool& signal_frame) {
  const uint64_t offset = looked_up_pc(walk) - walk.description.function_start;
  return offset < walk.description.function_size &&
         interpret(walk.description, offset, row, signal_frame);
}

// Whether the caller's pc can be what it is said to be (invariant 3).
bool is_plausible(Walk& caller) {
  if (caller.interrupted || caller.place == Walk::Place::trampoline || follows_call(caller))
    return true;
  Row row;
  bool signal_frame = false;
  return caller.place == Walk::Place::described && read_row(caller, row, signal_frame) &&
         row.rules[return_column] == Rule::undefined;
}

// Reads no more of the stack. Nothing is copied by assignment, since the compiler would call
// memcpy.
Step enter(Walk& walk, Walk& caller, FindDescription find, void* context) {
  if (!caller.interrupted && caller.pc == 0) return Step::bottom;
  look_up(caller, find, context);
  if (!is_plausible(caller)) return Step::lost;
  copy_bytes(&walk, &caller, sizeof walk);
  return Step::caller;
}

Step step_by_description(Walk& walk, FindDescription find, void* context) {
  Row row;
  bool signal_frame = false;
  if (!read_row(walk, row, signal_frame)) return Step::lost;
  if (row.rules[return_column] == Rule::undefined) return Step::bottom;
  Walk caller;
  if (!Unwinding(walk, row, signal_frame).run(caller)) return Step::lost;
  keep_stack(walk, caller);
  if (signal_frame && !change_stack(walk, caller)) return Step::lost;
  return enter(walk, caller, find, context);
}

Step step_over_signal(Walk& walk, FindDescription find, void* context) {
  Walk caller;
  if (!read_signal_frame(walk, caller)) return Step::lost;
  keep_stack(walk, caller);
  if (!change_stack(walk, caller)) return Step::lost;
  return enter(walk, caller, find, context);
}

// The dynamic loader's start code has no description. It clears rbp to mark the end, and its stack
// pointer is the process's first: argc, argv, 0.
bool at_process_start(Walk& walk) {
  const uint64_t stack_pointer = walk.registers.value[rsp];
  constexpr uint64_t most_arguments = 1u << 20;
  uint64_t count = 0;
  uint64_t first = 0;
  uint64_t end = 1;
  return !walk.interrupted && walk.registers.is_known(rbp) && walk.registers.value[rbp] == 0 &&
         read_stack(walk, stack_pointer, count) && count - 1 < most_arguments &&
         read_stack(walk, stack_pointer + 8, first) && first > stack_pointer &&
         read_stack(walk, stack_pointer + 8 * (count + 1), end) && end == 0;
}

bool in_plt(Walk& walk, uint64_t& pushed) {
  uint8_t code[2 * plt_window] = {};
  if (!walk.interrupted || !read_code(walk, walk.pc, code + plt_window, plt_window)) return false;
  // Nothing before the first entry may be readable, and half of it read is as good.
  read_code(walk, walk.pc - plt_window, code, plt_window);
  const int bytes = plt_pushed(code + plt_window);
  pushed = static_cast<uint64_t>(bytes);
  return bytes != plt_no;
}

Step step_without_description(Walk& walk, FindDescription find, void* context) {
  uint64_t pushed = 0;
  if (!in_plt(walk, pushed)) return at_process_start(walk) ? Step::bottom : Step::lost;
  Row row = {};
  row.cfa_register = rsp;
  row.cfa_number = static_cast<int32_t>(pushed + 8);
  row.rules[return_column] = Rule::offset;
  row.numbers[return_column] = -8;
  Walk caller;
  if (!Unwinding(walk, row, false).run(caller)) return Step::lost;
  keep_stack(walk, caller);
  return enter(walk, caller, find, context);
}

void reset(Walk& walk) {
  fill_bytes(&walk, 0, sizeof walk);
  walk.interrupted = true;
  walk.readable_code = Walk::no_code;
}

}  // namespace

void begin_walk(Walk& walk, ucontext_t& interrupted) {
  reset(walk);
  take_registers(walk, interrupted.uc_mcontext.gregs);
  begin_stack(walk, walk.registers.value[rsp]);
}

void begin_walk(Walk& walk, uint64_t pc, uint64_t stack_pointer) {
  reset(walk);
  walk.pc = pc;
  walk.registers.set(rsp, stack_pointer);
  begin_stack(walk, stack_pointer);
}

Step step(Walk& walk, FindDescription find, void* context) {
  if (walk.place == Walk::Place::not_looked_up) look_up(walk, find, context);
  switch (walk.place) {
    case Walk::Place::trampoline:
      return step_over_signal(walk, find, context);
    case Walk::Place::described:
      return step_by_description(walk, find, context);
    default:
      return step_without_description(walk, find, context);
  }
}

}  // namespace stab::rt
