// SPDX-License-Identifier: MIT
// A function that calls setjmp gets a prologue that saves all registers it has to preserve. A
// jmp_buf then holds its own values only, and those of its callers lie on the stack, where the
// runtime finds them.
#pragma once

#include <llvm/IR/Module.h>

namespace stab::pass {

void save_caller_registers(llvm::Module& module);

}  // namespace stab::pass
