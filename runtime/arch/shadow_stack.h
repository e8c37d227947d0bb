// SPDX-License-Identifier: MIT
// Shadow stacks (CET): the processor compares each return address with a second copy, which epochs
// cannot rewrite. If a thread has a shadow stack, functions move at start only. libc turns shadow
// stacks on before the runtime begins; a program may do so later.
#pragma once

#include <stdint.h>

namespace stab::rt {

// Returns the calling thread's shadow stack pointer, or 0. Without shadow stacks the instruction
// does nothing, so this needs no system call, which a filter might forbid.
inline uint64_t shadow_stack_pointer() {
  uint64_t pointer = 0;
  asm volatile("rdsspq %0" : "+r"(pointer));
  return pointer;
}

inline bool has_shadow_stack() {
  return shadow_stack_pointer() != 0;
}

}  // namespace stab::rt
