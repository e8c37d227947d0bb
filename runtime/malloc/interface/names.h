// SPDX-License-Identifier: MIT
// malloc, free and similar functions, which the program and its libraries call. With heap=0 each of
// them is a jump to the system's function.
#pragma once

namespace stab::heap {

// Whether the program calls our malloc. A definition in its own objects precedes ours.
bool is_own_malloc();

}  // namespace stab::heap
