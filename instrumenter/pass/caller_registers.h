// SPDX-License-Identifier: MIT
// A function that calls setjmp gets a prologue that saves all registers it has to preserve. A
// jmp_buf then holds only this function's values. Its callers' values lie on the stack, where the
// runtime finds them.
#pragma once

#include <llvm/IR/Module.h>

namespace stab::pass {

void save_caller_registers(llvm::Module& module);

}  // namespace stab::pass
