// SPDX-License-Identifier: MIT
// What a walk recognises in machine code.
#pragma once

#include <stdint.h>

namespace stab::rt {

// A call ends exactly at `end`; `count` bytes before it can be read.
bool ends_with_call(const uint8_t* end, uint32_t count);
constexpr uint32_t longest_call = 7;  // without prefixes

// The stub that a signal handler returns to: eax = 15, syscall. The kernel's frame is at its stack
// pointer.
bool is_trampoline(const uint8_t* code, uint32_t count);
constexpr uint32_t longest_trampoline = 9;
// Between its two instructions; `count` bytes before and 2 behind it can be read.
bool is_trampoline_end(const uint8_t* at, uint32_t count);

// Linkers other than GNU's describe no PLT. Bytes that its code has pushed at this point, above
// which the return address lies; plt_no: not a PLT that we know. `at` has plt_window bytes on both
// sides, zeros where there is nothing to read.
constexpr uint32_t plt_window = 16;
constexpr int plt_no = -1;
int plt_pushed(const uint8_t* at);

}  // namespace stab::rt
