// SPDX-License-Identifier: MIT
// The frames of functions: their descriptions for unwinders, and the places of their sizes.
#pragma once

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {

// Fills in Function::frame, and pins functions with unwind information that a copy could not
// carry.
void read_frames(Program& program);

// Finds the fields that hold the size of a frame, and removes the pass's static pads again where
// that is certainly right.
void analyse_stack(Program& program);

std::string_view describe(abi::PadReason reason);

}  // namespace stab::instrumenter
