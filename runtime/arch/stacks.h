// SPDX-License-Identifier: MIT
// Stacks other than the program's: calls on another stack, and the processor's shadow stack.
#pragma once

#include <stdint.h>

namespace stab::rt {

// Calls `function` on the stack below `top`, which must be a multiple of 16.
void call_on_stack(uint8_t* top, void (*function)(void*), void* argument);

// Calls `function` on a stack of the runtime's own, because the program's stack may have little
// room left. There is only one such stack, so only one caller may use it at a time.
void call_on_private_stack(void (*function)(void*), void* argument);

// Shadow stacks (CET): the processor compares each return address with a second copy, which epochs
// cannot rewrite. If a thread has a shadow stack, functions move at start only. libc turns shadow
// stacks on before the runtime begins; a program may do so later.

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
