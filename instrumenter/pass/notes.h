// SPDX-License-Identifier: MIT
// Notes for the post-link step, which change no code: the types of calls by pointers, the functions
// in which only the compiler moves the stack pointer, the functions whose frames must stay as they
// are, and the functions that are used as bytes.
#pragma once

#include <llvm/IR/Module.h>

#include <vector>

namespace stab::pass {

// Records which functions a call by a pointer may reach: those of its type whose address is taken.
// The post-link step needs that to find the functions that may be on the stack many times, because
// machine code has no types.
//
// A record is | address in the function (8) | type of the function, or 0 if no pointer leads to it
// (4) | count (2) | types that it calls by pointers (4 each) |, in the section .szc_calls, which
// is not loaded. A type is a hash, never 0.
void add_call_types(llvm::Module& module);

// Records functions in which only the compiler moves the stack pointer. A function with objects of
// variable size keeps the stack pointer in a word of its frame, and machine code does not show
// that no object lies there. A record is an address in the function (8), in the section
// .szc_compiled, which is not loaded.

// Must run before the pass adds its own assembly.
std::vector<llvm::Function*> find_compiled(llvm::Module& module);

// Records those of them that have objects of variable size, including the pass's own objects.
void note_compiled_frames(const std::vector<llvm::Function*>& compiled);

// Records functions whose frames the post-link step must leave alone, too: the user wants no pads,
// or the pass gives this function none. A record is the address of a function (8), in the section
// .szc_alone, which is not loaded.

// `all`: the module gets no static pads. Must run before the pass adds its own assembly.
std::vector<const llvm::Function*> find_left_alone(const llvm::Module& module, bool all);
void note_left_alone(llvm::Module& module, const std::vector<const llvm::Function*>& functions);

// Records functions whose bytes or range the program uses, by their own name or by an alias: it
// computes with their address, compares it by order, or copies from there. Such code must stay
// where it is. A function that is only called, stored, compared for equality or passed on does not
// count.
//
// A record is a list of the functions that one function uses in this way: their addresses (8
// each), then 0, in the section .szc_bytes, which is not loaded. The program may also mean the
// code between them.
void note_used_bytes(llvm::Module& module);

}  // namespace stab::pass
