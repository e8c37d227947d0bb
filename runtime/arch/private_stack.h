// SPDX-License-Identifier: MIT
#pragma once

namespace stab::rt {

// Calls `function` on a stack of the runtime's own, because the program may have left little room
// on its own. There is one such stack, so there is one caller at a time.
void call_on_private_stack(void (*function)(void*), void* argument);

}  // namespace stab::rt
