// SPDX-License-Identifier: MIT
// What the pads' two parts ask of functions and calls.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

namespace stab::pass {

// Whether the function has no body, is not of the usual shape, or belongs to another
// instrumentation.
bool is_left_alone(const llvm::Function& function);

// Others look into its frame, or change it behind the compiler's back.
bool has_special_frame(const llvm::Function& function);

// One of its calls has an argument on the stack that must lie at a multiple of more than 16. LLVM
// does not align the stack pointer for those behind an alloca of variable size.
bool passes_over_aligned(const llvm::Function& function);

// The function keeps the address of a local and expects the same local of a later call at the same
// depth to lie there: so its frame must have one size.
bool remembers_its_place(const llvm::Function& function);

// A call of another function from which control comes back.
bool is_real_call(const llvm::CallBase& call);

}  // namespace stab::pass
