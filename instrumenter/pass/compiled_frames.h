// SPDX-License-Identifier: MIT
// Records functions in which only the compiler moves the stack pointer. A function with objects of
// variable size keeps the stack pointer in a word of its frame, and machine code does not show
// that no object lies there. A record is an address in the function (8), in the section
// .stab_compiled, which is not loaded.
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

namespace stab::pass {

// Must run before the pass adds its own assembly.
std::vector<llvm::Function*> find_compiled(llvm::Module& module);

// Records those of them that have objects of variable size, including the pass's own objects.
void note_compiled_frames(const std::vector<llvm::Function*>& compiled);

}  // namespace stab::pass
