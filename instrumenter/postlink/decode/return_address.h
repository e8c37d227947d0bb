// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "instrumenter/postlink/decode/stack_moves.h"

namespace stab::instrumenter {

// Whether a function that begins so takes its return address for something else than to return: to
// read what lies there, to return behind it, or to tell its caller. Looks as far as its first call,
// jump or return.
bool takes_return_address(std::span<const StackMove> moves);

}  // namespace stab::instrumenter
