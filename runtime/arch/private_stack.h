// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace stab::rt {

// Calls `function` on the stack below `top`, which is a multiple of 16.
void call_on_stack(uint8_t* top, void (*function)(void*), void* argument);

// Calls `function` on a stack of the runtime's own, because the program may have left little room
// on its own. There is one such stack, so there is one caller at a time.
void call_on_private_stack(void (*function)(void*), void* argument);

}  // namespace stab::rt
