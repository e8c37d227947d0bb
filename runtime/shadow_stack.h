// SPDX-License-Identifier: MIT
// Shadow stacks (CET): the processor compares each return address with a second one, which epochs
// cannot rewrite. Where a thread has one, functions move at start only. libc turns them on before
// the runtime begins; a program may do so later.
#pragma once

#include <stdint.h>

namespace stab::rt {

// Of what the kernel says of a thread: the result of the call, and the features that it wrote.
constexpr bool means_shadow_stack(long result, uint64_t features) {
  constexpr uint64_t shadow_stack = 1;
  return result == 0 && (features & shadow_stack) != 0;
}

// Whether the calling thread has one now. Asks the kernel if that knows of them.
bool has_shadow_stack();

}  // namespace stab::rt
