// SPDX-License-Identifier: MIT
// The system call instruction. Other code calls os.h and similar files, which use it. Results are
// the kernel's.
#pragma once

namespace stab::os {

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

inline long address_of(const void* pointer) {
  return reinterpret_cast<long>(pointer);
}

}  // namespace stab::os
