// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "instrumenter/postlink/decode/instruction.h"

namespace stab::instrumenter {

// Whether a function that begins like this uses its return address for more than returning: it
// reads the bytes there, returns behind it, or passes it to its caller. Looks no further than the
// first call, jump or return.
bool takes_return_address(std::span<const Instruction> instructions);

}  // namespace stab::instrumenter
