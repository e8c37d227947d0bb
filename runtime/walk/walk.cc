// SPDX-License-Identifier: MIT
#include "runtime/walk/walk.h"

#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/walk/description.h"
#include "runtime/walk/frame.h"

namespace stab::rt {
namespace {

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
  walk.code = find(looked_up_pc(walk), walk.description, context) ? Walk::Code::described
                                                                  : Walk::Code::unknown;
  if (at_trampoline(walk)) walk.code = Walk::Code::trampoline;
}

bool follows_call(Walk& walk) {
  uint8_t code[longest_call];
  for (uint32_t count = longest_call; count >= 2; --count)
    if (read_code(walk, walk.pc - count, code, count)) return ends_with_call(code + count, count);
  return false;
}

bool read_row(const Walk& walk, Row& row, bool& signal_frame) {
  const uint64_t offset = looked_up_pc(walk) - walk.description.function_start;
  return offset < walk.description.function_size &&
         interpret(walk.description, offset, row, signal_frame);
}

// Whether the caller's pc is possible (invariant 3).
bool is_plausible(Walk& caller) {
  if (caller.interrupted || caller.code == Walk::Code::trampoline || follows_call(caller))
    return true;
  Row row;
  bool signal_frame = false;
  return caller.code == Walk::Code::described && read_row(caller, row, signal_frame) &&
         row.rules[return_column] == Rule::undefined;
}

bool grows(const Walk& walk, const Walk& caller) {
  const uint64_t from = walk.registers.value[rsp];
  const uint64_t to = caller.registers.value[rsp];
  return caller.registers.is_known(rsp) && (to > from || (walk.interrupted && to == from));
}

// Reads no more of the stack. It copies with copy_bytes(), because the compiler would turn an
// assignment into a call of memcpy.
Step enter(Walk& walk, Walk& caller, FindDescription find, void* context) {
  STAB_DEBUG(Walks, 2, caller.interrupted || grows(walk, caller));
  look_up(caller, find, context);
  if (!is_plausible(caller)) return Step::lost;
  copy_bytes(&walk, &caller, sizeof walk);
  return Step::caller;
}

// Whether the frame belongs to a function that can end by a jump to a landing pad: libgcc's
// _Unwind_RaiseException and its kin save the two registers that carry the exception.
bool may_jump_to_landing_pad(const Row& row) {
  constexpr uint32_t rax = 0;
  constexpr uint32_t rdx = 1;
  return row.rules[rax] == Rule::offset && row.rules[rdx] == Rule::offset;
}

// Before such a function jumps, a function that it calls copies the registers of the frame that
// catches over those that it has saved.
void forget_saved_registers(const Row& row, Walk& caller) {
  for (uint32_t i = 0; i < register_count; ++i) {
    if (row.rules[i] != Rule::offset) continue;
    caller.registers.forget(i);
    caller.saved[i] = nullptr;
  }
}

Step step_by_description(Walk& walk, FindDescription find, void* context) {
  Row row;
  bool signal_frame = false;
  if (!read_row(walk, row, signal_frame)) return Step::lost;
  if (row.rules[return_column] == Rule::undefined) return Step::bottom;
  Walk caller;
  if (!unwind_frame(walk, row, signal_frame, caller)) return Step::lost;
  if (may_jump_to_landing_pad(row) && !signal_frame) {
    // Its last steps write the address of the landing pad over a return address.
    if (walk.interrupted) return Step::lost;
    forget_saved_registers(row, caller);
  }
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
  // If the page before is unreadable, all bytes before pc stay zero.
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
  if (!unwind_frame(walk, row, false, caller)) return Step::lost;
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
  if (walk.code == Walk::Code::not_looked_up) look_up(walk, find, context);
  switch (walk.code) {
    case Walk::Code::trampoline:
      return step_over_signal(walk, find, context);
    case Walk::Code::described:
      return step_by_description(walk, find, context);
    default:
      return step_without_description(walk, find, context);
  }
}

}  // namespace stab::rt
