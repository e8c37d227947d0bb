// SPDX-License-Identifier: MIT
// Functions whose bytes or range the program uses: it computes with their address, compares it by
// order, or copies from there. Such code must stay where it is. What is only called, stored,
// compared for equality or handed on is not one of them.
//
// A record is the addresses of the functions that one function uses in this way (8 each), ended by
// 0, in the section .stab_bytes, which is not loaded. What lies between them may be meant too.
#pragma once

#include <llvm/IR/Module.h>

namespace stab::pass {

void note_used_bytes(llvm::Module& module);

}  // namespace stab::pass
