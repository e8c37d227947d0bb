// SPDX-License-Identifier: MIT
#include "runtime/walk/signal.h"

#include <stddef.h>

#include "runtime/walk/memory.h"

namespace stab::rt {
namespace {

constexpr uint8_t places[register_count] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                            REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                            REG_R12, REG_R13, REG_R14, REG_R15};

}  // namespace

void take_registers(Walk& walk, greg_t* kept) {
  for (uint32_t i = 0; i < register_count; ++i) {
    walk.registers.set(i, load64(kept + places[i]));
    walk.saved[i] = reinterpret_cast<uint64_t*>(kept + places[i]);
  }
  walk.pc = load64(kept + REG_RIP);
  walk.pc_slot = reinterpret_cast<uint64_t*>(kept + REG_RIP);
  walk.interrupted = true;
}

bool read_signal_frame(Walk& walk, Walk& caller) {
  constexpr uint64_t offset = offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, gregs);
  constexpr uint64_t user_code = 0x33;  // the only 64-bit code segment of programs
  const uint64_t kept = walk.registers.value[rsp] + offset;
  uint64_t first = 0;
  uint64_t segments = 0;
  // All between two words that can be read can be read.
  if (!read_stack(walk, kept, first) || !read_stack(walk, kept + 8 * REG_CSGSFS, segments) ||
      (segments & 0xffff) != user_code)
    return false;
  take_registers(caller, reinterpret_cast<greg_t*>(kept));
  return true;
}

void keep_stack(const Walk& walk, Walk& caller) {
  caller.readable_start = walk.readable_start;
  caller.readable_end = walk.readable_end;
  caller.readable_code = walk.readable_code;
  caller.stacks = walk.stacks;
}

bool change_stack(const Walk& walk, Walk& caller) {
  const uint64_t from = walk.registers.value[rsp];
  const uint64_t to = caller.registers.value[rsp];
  if (to > from && to < walk.readable_end) return true;
  if (++caller.stacks > most_stacks) return false;
  begin_stack(caller, to);
  return true;
}

}  // namespace stab::rt
