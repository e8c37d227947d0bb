// SPDX-License-Identifier: MIT
#pragma once

#include "instrumenter/postlink/decode/stack_values.h"

namespace stab::instrumenter {

// Applies one instruction to a state. Returns false if the stack pointer may lie on another stack
// afterwards. `own_base` is the base that the instruction creates if it aligns or lowers the stack
// pointer. `compiled` promises that code that gets the address of an object in the frame writes to
// no other word of the frame.
bool carry_out(const Instruction& instruction, std::uint32_t own_base, bool compiled,
               StackState& state);

}  // namespace stab::instrumenter
