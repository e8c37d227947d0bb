// SPDX-License-Identifier: MIT
#pragma once

#include "instrumenter/postlink/decode/stack_values.h"

namespace stab::instrumenter {

// Applies one instruction to a state. `own_base` is the base that the instruction makes if it
// aligns or lowers the stack pointer. `compiled`: whoever gets the address of an object in the
// frame writes to no other word of it. Returns false if the stack pointer may then lie on another
// stack.
bool carry_out(const StackMove& move, std::uint32_t own_base, bool compiled, StackState& state);

}  // namespace stab::instrumenter
