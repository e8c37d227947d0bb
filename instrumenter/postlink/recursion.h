// SPDX-License-Identifier: MIT
// Which functions may be on the stack many times.
#pragma once

#include <vector>

#include "instrumenter/postlink/program.h"

namespace stab::instrumenter {

// By index: whether a chain of direct calls leads from the function back to it.
std::vector<bool> recursive_functions(const Program& program);

}  // namespace stab::instrumenter
