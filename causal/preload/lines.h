// SPDX-License-Identifier: MIT
// Which line an address is of. All of it is safe in a signal handler.
#pragma once

#include <stdint.h>
#include <ucontext.h>

namespace stab::causal {

// no_line: the address is in no line in scope.
uint32_t line_of(uint64_t pc);

// The line of the innermost frame that is in scope, or no_line. `is_whole`: all frames were seen, or
// as many as were needed.
uint32_t innermost_line(ucontext_t& interrupted, bool& is_whole);

// Code was unloaded: another file may be at its addresses.
void forget_objects();

}  // namespace stab::causal
