// SPDX-License-Identifier: MIT
// Walks the frames of a stopped thread and tells exactly where each return address is kept. Safe in
// a signal handler: no allocation, no locks, no libc, no recursion, no thread-local storage, as
// handler_test.sh verifies. The stack, the frame descriptions and the registers may be corrupt.
//
// Invariants:
//   1. The stack is read upwards from red_zone below the first stack pointer, in aligned words, and
//      only on pages that were found to be readable. At a signal frame this starts anew, at most
//      most_stacks times.
//   2. The stack pointer grows with each step that does not cross a signal frame, by less than
//      most_stack in all, so every walk ends. (It stays the same in a step out of an interrupted
//      function that has taken its return address off the stack.)
//   3. A return address is preceded by a call, or is a signal trampoline, or the end of the stack.
//   4. If a step isn't sure about the caller, it returns `lost`, and the walk still describes the
//      last sure frame.
#pragma once

#include <stdint.h>
#include <ucontext.h>

namespace stab::rt {

constexpr uint64_t red_zone = 128;
constexpr uint64_t most_stack = uint64_t{1} << 30;
constexpr uint32_t most_stacks = 64;

// The description, its CIE and the code of the function are readable.
struct FrameDescription {
  const uint8_t* fde = nullptr;  // starts with its length
  uint64_t fde_size = 0;         // including the length
  const uint8_t* cie = nullptr;
  uint64_t cie_size = 0;
  // The function in which the pc lies; for a copy, this is the place of the copy. The walk ignores
  // the place that the description names.
  uint64_t function_start = 0;
  uint64_t function_size = 0;
};

// Finds the description for a pc, which may be any number. Returns false if there is no
// description.
using FindDescription = bool (*)(uint64_t pc, FrameDescription& description, void* context);

// Registers have DWARF's numbers: rax rdx rcx rbx rsi rdi rbp rsp r8 to r15.
constexpr uint32_t register_count = 16;
constexpr uint32_t rbp = 6;
constexpr uint32_t rsp = 7;

struct Registers {
  uint64_t value[register_count];  // undefined for unknown registers
  uint32_t known = 0;              // a bit for each register

  [[nodiscard]] bool is_known(uint32_t number) const { return (known >> number & 1) != 0; }
  void set(uint32_t number, uint64_t to) {
    value[number] = to;
    known |= 1u << number;
  }
  void forget(uint32_t number) { known &= ~(1u << number); }
};

struct Walk {
  uint64_t pc = 0;  // the next instruction that the frame runs
  // The frame was interrupted at pc and has called nothing, so the walk looks up pc itself and not
  // the byte before it.
  bool interrupted = true;
  Registers registers;
  // The place that keeps pc, on the stack or in the context of a signal. It is null in a sleeping
  // thread.
  uint64_t* pc_slot = nullptr;
  // The place that keeps the value of each register in this frame. It is null if the register
  // itself holds the value, or if the place isn't known. An interrupted prologue or epilogue may
  // hold the same value at a second place, the other one of register and stack.
  uint64_t* saved[register_count];
  // The walk may read the words between these addresses. A caller that knows of more readable
  // memory may raise the end after begin_walk.
  uint64_t readable_start = 0;
  uint64_t readable_end = 0;

  // The fields below are for step() only.
  enum class Code : uint8_t { not_looked_up, described, trampoline, unknown };
  Code code = Code::not_looked_up;
  FrameDescription description;
  static constexpr uint64_t no_code = 1;
  uint64_t readable_code = no_code;  // a page that was tried
  uint32_t stacks = 0;
};

enum class Step : uint8_t {
  caller,  // the walk is at the caller now
  bottom,  // the frame has no caller
  lost,    // there may be a caller, but it is not certain
};

// Begins at the interrupted code. `interrupted` is the third argument of a signal handler, and
// pc_slot and saved point into it.
void begin_walk(Walk& walk, ucontext_t& interrupted);
// Begins at a sleeping thread. Only its pc and its stack pointer are known; other registers become
// known when a frame has saved them.
void begin_walk(Walk& walk, uint64_t pc, uint64_t stack_pointer);

Step step(Walk& walk, FindDescription find, void* context);

}  // namespace stab::rt
