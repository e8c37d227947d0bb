// SPDX-License-Identifier: MIT
// The frames of functions: their descriptions for unwinders, and the places of their sizes.
#pragma once

#include "instrumenter/postlink/code/code.h"

namespace stab::instrumenter {

// Fills in Function::frame, and pins functions with unwind information that a copy could not
// carry.
FramesAreRead read_frames(Program& program, SymbolsAreSized sizes, const Pinning& pinning);

// Finds the fields that hold the size of a frame, and removes the pass's static pads again where
// that is certainly right.
void analyse_stack(Program& program, PinsAreKnown pins);

std::string_view describe(abi::PadReason reason);

}  // namespace stab::instrumenter
