// SPDX-License-Identifier: MIT
// A function that runs as long as the program is entered only once, so the functions that it calls
// in a loop would always start at the same stack address. Such functions (main, and those that
// threads start with) take a new pad in each iteration of their outermost loops: the stack pointer
// goes back to where it was at the beginning, and down by 16 times a byte, which the runtime
// changes. What it newly covers is cleared.
#pragma once

#include <llvm/IR/Module.h>

namespace stab::pass {

// The number of loops.
unsigned add_loop_pads(llvm::Module& module);

}  // namespace stab::pass
