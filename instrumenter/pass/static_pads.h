// SPDX-License-Identifier: MIT
// Gives each function that calls others a frame whose size the runtime can change in a copy: an
// object of 144 bytes that nothing uses, so that the size is a 32-bit immediate. Where the object
// lies goes into a record for the post-link step, which takes its bytes away again wherever that is
// sure to be right.
//
// A record is | address in the function (8) | flags (1) | length (1) | `lea object, %rax`, or
// nothing |, in the section .stab_frames, which is not loaded. It is written by an asm that
// executes nothing, next to a call, where there is a frame anyway: the prologue stays where it was.
#pragma once

#include <llvm/IR/Module.h>

namespace stab::pass {

// What may be relied on.
constexpr unsigned all_arguments_in_registers = 1;
constexpr unsigned rarest_object_on_top = 2;  // where locals are reached by the stack pointer
constexpr unsigned spilled_below = 4;         // nothing but spilled values lies below the object

// The number of functions that got one. Unoptimized: this module's code is made at -O0, at once;
// its objects then lie in the order of their declaration.
unsigned add_static_pads(llvm::Module& module, bool unoptimized);

}  // namespace stab::pass
