// SPDX-License-Identifier: MIT
// The names malloc, free and their like, which the program and its libraries call. With heap=0 they
// lead on to the system's with one jump.
#pragma once

namespace stab::heap {

// Whether the program's malloc is this one: a definition in its own objects goes before ours.
bool is_own_malloc();

}  // namespace stab::heap
