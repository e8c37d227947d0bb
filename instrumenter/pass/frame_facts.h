// SPDX-License-Identifier: MIT
// Facts about functions and calls that several parts of the pass need.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>

#include <cstdint>

namespace stab::pass {

// Whether the function has no body, is not of the usual shape, or belongs to another
// instrumentation.
bool is_left_alone(const llvm::Function& function);

// Whether others look into its frame, or change it behind the compiler's back.
bool has_special_frame(const llvm::Function& function);

// Whether one of its calls has an argument on the stack that must be aligned to more than 16. LLVM
// does not align the stack pointer for such arguments behind an alloca of variable size.
bool passes_over_aligned(const llvm::Function& function);

// Whether the function keeps the address of a local, and expects the same local of a later call at
// the same depth to lie there. Then its frame must have one size.
bool remembers_its_place(const llvm::Function& function);

// The alignment that LLVM may give the frame, for its objects and for vectors that it may spill; at
// least 16.
std::uint64_t frame_alignment(const llvm::Function& function);

// The pass makes the frame larger, by at most so many bytes: raises the limit of
// -Wframe-larger-than by as much, so that clang's warning is about the user's frame.
void allow_larger_frame(llvm::Function& function, std::uint64_t bytes);

// Whether this is a call of another function from which control comes back.
bool is_real_call(const llvm::CallBase& call);

}  // namespace stab::pass
