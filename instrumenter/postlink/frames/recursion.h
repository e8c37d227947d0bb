// SPDX-License-Identifier: MIT
// Which functions may be on the stack many times.
#pragma once

#include <vector>

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {

// Notes in functions where calls by pointers may lead.
void read_call_types(Program& program);

// By index: whether a chain of calls may lead from the function back to it. Calls by pointers lead
// to all functions of their type whose address is taken; what other libraries call is not known.
std::vector<bool> recursive_functions(const Program& program);

}  // namespace stab::instrumenter
