// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace stab::rt {

// Calls `function` on the stack below `top`, which must be a multiple of 16.
void call_on_stack(uint8_t* top, void (*function)(void*), void* argument);

// Calls `function` on a stack of the runtime's own, because the program's stack may have little
// room left. There is only one such stack, so only one caller may use it at a time.
void call_on_private_stack(void (*function)(void*), void* argument);

}  // namespace stab::rt
