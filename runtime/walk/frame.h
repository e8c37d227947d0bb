// SPDX-License-Identifier: MIT
// From one frame to the one above it, by its rules.
#pragma once

#include "runtime/walk/rules.h"
#include "runtime/walk/walk.h"

namespace stab::rt {

// Fills in the caller's pc, registers and slots. Returns false if the rules or the stack are
// corrupt or need a register that is not known.
bool unwind_frame(Walk& walk, const Row& row, bool signal_frame, Walk& caller);

}  // namespace stab::rt
