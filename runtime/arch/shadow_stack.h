// SPDX-License-Identifier: MIT
// Shadow stacks (CET): the processor compares each return address with a second one, which epochs
// cannot rewrite. Where a thread has one, functions move at start only. libc turns them on before
// the runtime begins; a program may do so later.
#pragma once

#include <stdint.h>

namespace stab::rt {

// Where the calling thread's is, or 0. The instruction does nothing where there are none: no kernel
// and no filter of system calls has to be asked.
inline uint64_t shadow_stack_pointer() {
  uint64_t pointer = 0;
  asm volatile("rdsspq %0" : "+r"(pointer));
  return pointer;
}

inline bool has_shadow_stack() {
  return shadow_stack_pointer() != 0;
}

}  // namespace stab::rt
