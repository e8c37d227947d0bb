// SPDX-License-Identifier: MIT
// Where nothing but the compiler moves the stack pointer: a function with objects of variable size
// keeps it in a word of its frame, and machine code does not show that no object lies there. A
// record is an address in the function (8), in the section .stab_compiled, which is not loaded.
#pragma once

#include <llvm/IR/Module.h>

namespace stab::pass {

// `all`: functions that have no such objects yet, too. Before our own assembly is put in.
void note_compiled_frames(llvm::Module& module, bool all);

}  // namespace stab::pass
