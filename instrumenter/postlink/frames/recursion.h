// SPDX-License-Identifier: MIT
// Finds the functions that may be on the stack many times.
#pragma once

#include <vector>

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {

// Notes in the functions where calls by pointers may lead.
void read_call_types(Program& program);

// Returns for each function whether a chain of calls may lead from it back to itself. A call by a
// pointer may lead to any function of its type whose address is taken. The calls that other
// libraries make are not known.
std::vector<bool> recursive_functions(const Program& program);

}  // namespace stab::instrumenter
