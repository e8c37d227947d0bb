// SPDX-License-Identifier: MIT
// The functions malloc, free and their like, which the program and its libraries call. With heap=0
// each is one jump to the system's.
#pragma once

namespace stab::heap {

// Whether the malloc that the program calls is ours. A definition in its own objects precedes ours.
bool is_own_malloc();

}  // namespace stab::heap
