// SPDX-License-Identifier: MIT
// Recognises machine code that a walk must know: calls, signal trampolines and PLT entries.
#pragma once

#include <stdint.h>

namespace stab::rt {

// Whether a call ends exactly at `end`. `count` bytes before `end` can be read.
bool ends_with_call(const uint8_t* end, uint32_t count);
constexpr uint32_t longest_call = 7;  // without prefixes

// Whether this is the stub to which a signal handler returns: eax = 15, syscall. The kernel's frame
// is then at the stack pointer.
bool is_trampoline(const uint8_t* code, uint32_t count);
constexpr uint32_t longest_trampoline = 9;
// Whether `at` is between the stub's two instructions. `count` bytes before `at` and 2 bytes behind
// it can be read.
bool is_trampoline_end(const uint8_t* at, uint32_t count);

// Linkers other than GNU's write no frame descriptions for PLTs. Returns the number of bytes that a
// PLT's code has pushed at this point, above which the return address lies, or plt_no if this is
// not a PLT that we know. `at` has plt_window readable bytes on both sides; unreadable memory must
// be replaced by zeros.
constexpr uint32_t plt_window = 16;
constexpr int plt_no = -1;
int plt_pushed(const uint8_t* at);

}  // namespace stab::rt
