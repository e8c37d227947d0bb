// SPDX-License-Identifier: MIT
// Finds the line that an address belongs to. Everything here is safe in a signal handler.
#pragma once

#include <stdint.h>
#include <ucontext.h>

namespace stab::causal {

// Returns no_line if the address is in no line in scope.
uint32_t line_of(uint64_t pc);

// Returns the line of the innermost frame that is in scope, or no_line. `is_whole` is whether it
// saw all frames, or as many as it needed.
uint32_t innermost_line(ucontext_t& interrupted, bool& is_whole);

// Call this after code was unloaded, because another file may be at its addresses.
void forget_objects();

}  // namespace stab::causal
