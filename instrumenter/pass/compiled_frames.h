// SPDX-License-Identifier: MIT
// Where nothing but the compiler moves the stack pointer: a function with objects of variable size
// keeps it in a word of its frame, and machine code does not show that no object lies there. A
// record is an address in the function (8), in the section .stab_compiled, which is not loaded.
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

namespace stab::pass {

// Before our own assembly is put in.
std::vector<llvm::Function*> find_compiled(llvm::Module& module);

// Those of them that have objects of variable size, our own included.
void note_compiled_frames(const std::vector<llvm::Function*>& compiled);

}  // namespace stab::pass
