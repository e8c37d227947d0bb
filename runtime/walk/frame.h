// SPDX-License-Identifier: MIT
// One frame of a walk: reads the stack and the code that the frame refers to, evaluates expressions
// in the frame, and finds the caller's frame by rules or in the kernel's signal frame. Recognises
// the machine code that tells what kind of frame it is.
#pragma once

#include <stdint.h>
#include <ucontext.h>

#include "runtime/base/byte_reader.h"
#include "runtime/walk/description.h"
#include "runtime/walk/walk.h"

namespace stab::rt {

// The stack is read from this address upwards (walk.h, invariant 1).
void begin_stack(Walk& walk, uint64_t stack_pointer);

// Returns false if this is not the address of an aligned word of this stack.
bool read_stack(Walk& walk, uint64_t address, uint64_t& value);

// Copies code from any address. Returns false if not all of it can be read.
bool read_code(Walk& walk, uint64_t address, uint8_t* to, uint32_t count);

inline uint64_t load64(const void* at) {
  uint64_t value = 0;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

// The kernel's frame, which it writes to the stack when it delivers a signal:

// Takes the pc and the registers of the interrupted code, and notes where the kernel keeps them.
void take_registers(Walk& walk, greg_t* kept);

// The walk is at the trampoline, and the caller is the interrupted code. Returns false if the frame
// is missing.
bool read_signal_frame(Walk& walk, Walk& caller);

// Notes that the caller's frame is on the same stack.
void keep_stack(const Walk& walk, Walk& caller);

// The interrupted code may run on another stack (walk.h, invariant 1). Returns false after too many
// changes of stacks.
bool change_stack(const Walk& walk, Walk& caller);

// Evaluates a DWARF expression in the frame that the walk is at. Branches are not supported, so
// every expression ends. `cfa` is the first operand unless it is null. Returns false if an operand
// is unknown, unreadable or unsupported.
bool evaluate(Walk& walk, ByteReader operations, const uint64_t* cfa, uint64_t& result);

// Fills in the caller's pc, registers and slots by the rules of the frame. Returns false if the
// rules or the stack are corrupt, or if the rules need a register whose value isn't known.
bool unwind_frame(Walk& walk, const Row& row, bool signal_frame, Walk& caller);

// Machine code that a walk must know: calls, signal trampolines and PLT entries.

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
