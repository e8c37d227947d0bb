// SPDX-License-Identifier: MIT
#pragma once

namespace stab::rt {

// Where a handler of ours returns to: the kernel wants to be told that it is over.
__attribute__((naked)) inline void return_from_signal() {
  __asm__ volatile("movl $15, %eax\n\tsyscall");
}

}  // namespace stab::rt
