// SPDX-License-Identifier: MIT
// The reaction to misuse of the heap: a block is freed twice, or an address isn't that of a block.
// The program aborts, as with libc's heap.
//
// Invariants:
//   1. A thread that aborts holds no lock of the heap, because the program's handler of SIGABRT may
//      allocate.
#pragma once

namespace stab::heap {

// Writes the reason to standard error and aborts. The records of the heap must be valid.
[[noreturn]] void damaged(const char* why);
// For callers that hold a lock. The thread aborts later, when it calls end_if_damaged().
void note_damage(const char* why);
void end_if_damaged();

constexpr const char* no_block = "free() or realloc() was called with an invalid address";
constexpr const char* freed_twice = "a block was freed twice, or passed to realloc() after free()";

}  // namespace stab::heap
