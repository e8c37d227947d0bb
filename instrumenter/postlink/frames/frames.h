// SPDX-License-Identifier: MIT
// The frames of functions: what describes them to unwinders, and where their sizes stand.
#pragma once

#include "instrumenter/postlink/code/code.h"

namespace stab::instrumenter {

// Fills in Function::frame; pins what has unwind information that a clone could not carry.
FramesAreRead read_frames(Program& program, SymbolsAreSized sizes, const Pinning& pinning);

// Finds the fields that hold the size of a frame, and takes the pass's static pads out again.
void analyse_stack(Program& program, const Decoder& decoder, PinsAreKnown pins);

std::string_view describe(abi::PadReason reason);

}  // namespace stab::instrumenter
