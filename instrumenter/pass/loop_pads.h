// SPDX-License-Identifier: MIT
// A function that runs as long as the program is entered only once, so the functions that it calls
// in a loop would always start at the same stack address. Such functions (main, and those that
// threads start with) take a new pad in each iteration of their outermost loops. The stack pointer
// goes back to where it was at the beginning, and then down by 16 times the value of a byte, which
// the runtime changes. The bytes that a pad newly covers are cleared.
#pragma once

#include <llvm/IR/Module.h>

namespace stab::pass {

// Returns the number of loops.
unsigned add_loop_pads(llvm::Module& module);

}  // namespace stab::pass
