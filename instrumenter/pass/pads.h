// SPDX-License-Identifier: MIT
// The three kinds of stack pads. The runtime changes the size of a frame in a copy of the function,
// or the function itself makes a pad: each time it is entered, or in each iteration of a loop.
#pragma once

#include <llvm/IR/Module.h>

namespace stab::pass {

// Gives each function that calls others a frame whose size the runtime can change in a copy: an
// unused object of 144 bytes makes the size a 32-bit immediate. A record tells the post-link step
// where the object lies, and the step removes its bytes again wherever that is certainly right.
//
// A record is | address in the function (8) | flags (1) | length (1) | `lea object, %rax`, or
// nothing |, in the section .szc_frames, which is not loaded. An asm that executes nothing writes
// it, next to a call. The function has a frame there anyway, so its prologue stays where it was.

// Flags: what the post-link step may rely on.
constexpr unsigned all_arguments_in_registers = 1;
// The object lies on top in frames whose locals the stack pointer reaches.
constexpr unsigned rarest_object_on_top = 2;
constexpr unsigned spilled_below = 4;  // only spilled values lie below the object

// Returns the number of functions that got an object. `unoptimized`: this module's code is made at
// -O0 and at once, so its objects lie in the order of their declaration.
unsigned add_static_pads(llvm::Module& module, bool unoptimized);

// Pads that a function allocates itself each time it is entered, by an alloca of variable size.
// They are for comparison with the frames that the runtime patches (above). Each function has a
// table of 256 bytes in the section stab_pads, as in the paper (Curtsinger and Berger, ASPLOS
// 2013), and each call takes the next one: the pad's size in units of 16 bytes. The runtime draws
// them anew for each layout.
//
// A record is | address in the function (8) | address of its bytes (8) | their number (4) |, in
// the section .szc_entries, which is not loaded. The post-link step limits the bytes of functions
// that may be on the stack many times.
//
// Returns the number of functions that got pads: those that call others.
unsigned add_entry_pads(llvm::Module& module);

// A function that runs as long as the program is entered only once, so the functions that it calls
// in a loop would always start at the same stack address. Such functions (main, and those that
// threads start with) take a new pad in each iteration of their outermost loops. The stack pointer
// goes back to where it was at the beginning, and then down by 16 times the value of a byte, which
// the runtime changes. The bytes that a pad newly covers are cleared.
//
// Returns the number of loops.
unsigned add_loop_pads(llvm::Module& module);

}  // namespace stab::pass
