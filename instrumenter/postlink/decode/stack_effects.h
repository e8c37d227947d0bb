// SPDX-License-Identifier: MIT
#pragma once

#include "instrumenter/postlink/decode/stack_values.h"

namespace stab::instrumenter {

// What one instruction does to a state. `own_base` is the base that it makes if it aligns or
// lowers. `compiled`: nothing that got the address of something in the frame writes to its other
// words. False: the stack pointer may be another stack's.
bool carry_out(const StackMove& move, std::uint32_t own_base, bool compiled, StackState& state);

}  // namespace stab::instrumenter
