// SPDX-License-Identifier: MIT
// Misuse of the heap that is found: blocks that are given back twice, and addresses that are no
// blocks. The program ends as it would with libc's heap.
#pragma once

namespace stab::heap {

// Says why on standard error and aborts. The caller holds no lock of the heap, and what it keeps is
// whole: the program may have a handler for SIGABRT, which may allocate.
[[noreturn]] void damaged(const char* why);
// For those who hold a lock: this thread ends the program when it comes to end_if_damaged.
void note_damage(const char* why);
void end_if_damaged();

constexpr const char* no_block = "free() or realloc() of what is no block";
constexpr const char* freed_twice = "a block was freed twice, or used by realloc() after free()";

}  // namespace stab::heap
