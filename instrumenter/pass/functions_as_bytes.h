// SPDX-License-Identifier: MIT
// Records functions whose bytes or range the program uses: it computes with their address,
// compares it by order, or copies from there. Such code must stay where it is. A function that is
// only called, stored, compared for equality or passed on does not count.
//
// A record is a list of the functions that one function uses in this way: their addresses (8
// each), then 0, in the section .stab_bytes, which is not loaded. The program may also mean the
// code between them.
#pragma once

#include <llvm/IR/Module.h>

namespace stab::pass {

void note_used_bytes(llvm::Module& module);

}  // namespace stab::pass
