// SPDX-License-Identifier: MIT
// Records which functions a call by a pointer may reach: those of its type whose address is taken.
// The post-link step needs that to find the functions that may be on the stack many times, because
// machine code has no types.
//
// A record is | address in the function (8) | type of the function, or 0 if no pointer leads to it
// (4) | count (2) | types that it calls by pointers (4 each) |, in the section .stab_calls, which
// is not loaded. A type is a hash, never 0.
#pragma once

#include <llvm/IR/Module.h>

namespace stab::pass {

void add_call_types(llvm::Module& module);

}  // namespace stab::pass
