// SPDX-License-Identifier: MIT
// What a walk reads of the stack and of code, and how it knows that it can.
#pragma once

#include "runtime/walk/walk.h"

namespace stab::rt {

// The pages from here up are the stack (walk.h, invariant 1).
void begin_stack(Walk& walk, uint64_t stack_pointer);

// Returns false if there is no aligned word of this stack.
bool read_stack(Walk& walk, uint64_t address, uint64_t& value);

// Copies code from any address. Returns false if not all of it can be read.
bool read_code(Walk& walk, uint64_t address, uint8_t* to, uint32_t count);

inline uint64_t load64(const void* at) {
  uint64_t value = 0;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace stab::rt
