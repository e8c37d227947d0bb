// SPDX-License-Identifier: MIT
// DWARF expressions, as far as frame descriptions use them: no branches, so they end.
#pragma once

#include <stdint.h>

#include "runtime/abi/byte_reader.h"
#include "runtime/walk/walk.h"

namespace stab::rt {

// Evaluates in the frame that the walk is at; `cfa` is the first operand, unless it is null. False:
// something is unknown, unreadable or unsupported.
bool evaluate(Walk& walk, ByteReader operations, const uint64_t* cfa, uint64_t& result);

}  // namespace stab::rt
