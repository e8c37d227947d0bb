// SPDX-License-Identifier: MIT
// Gives each function that calls others a frame whose size the runtime can change in a copy: an
// unused object of 144 bytes makes the size a 32-bit immediate. A record tells the post-link step
// where the object lies, and the step removes its bytes again wherever that is certainly right.
//
// A record is | address in the function (8) | flags (1) | length (1) | `lea object, %rax`, or
// nothing |, in the section .stab_frames, which is not loaded. An asm that executes nothing writes
// it, next to a call. The function has a frame there anyway, so its prologue stays where it was.
#pragma once

#include <llvm/IR/Module.h>

namespace stab::pass {

// Flags: what the post-link step may rely on.
constexpr unsigned all_arguments_in_registers = 1;
// The object lies on top in frames whose locals the stack pointer reaches.
constexpr unsigned rarest_object_on_top = 2;
constexpr unsigned spilled_below = 4;  // only spilled values lie below the object

// Returns the number of functions that got an object. `unoptimized`: this module's code is made at
// -O0 and at once, so its objects lie in the order of their declaration.
unsigned add_static_pads(llvm::Module& module, bool unoptimized);

}  // namespace stab::pass
