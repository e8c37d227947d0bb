// SPDX-License-Identifier: MIT
// Misuse of the heap that is found: blocks that are given back twice, and addresses that are no
// blocks. The program ends as it would with libc's heap.
#pragma once

namespace stab::heap {

// Says why on standard error and aborts.
[[noreturn]] void damaged(const char* why);

constexpr const char* no_block = "free() or realloc() of what is no block";
constexpr const char* freed_twice = "a block was freed twice, or used by realloc() after free()";

}  // namespace stab::heap
