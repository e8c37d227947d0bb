// SPDX-License-Identifier: MIT
// Walks the frames of a stopped thread and tells exactly where each return address is kept. Safe in
// a signal handler: no allocation, no locks, no libc, no recursion, no thread-local storage, as
// handler_test.sh finds. The stack, the frame descriptions and the registers may be corrupt.
//
// Invariants:
//   1. The stack is read upwards from red_zone below the first stack pointer, in aligned words, and
//      only on pages that were found to be readable. At a signal frame this starts anew, at most
//      most_stacks times.
//   2. The stack pointer grows with each step that is not over a signal frame, by less than
//      most_stack in all, so every walk ends. (It stays in a step out of an interrupted function that
//      has taken its return address off the stack.)
//   3. A return address is preceded by a call, or is a signal trampoline, or the end of the stack.
//   4. Where a step is not sure it says `lost`; the walk then still describes the last sure frame.
#pragma once

#include <stdint.h>
#include <ucontext.h>

namespace stab::rt {

constexpr uint64_t red_zone = 128;
constexpr uint64_t most_stack = uint64_t{1} << 30;
constexpr uint32_t most_stacks = 64;

// Readable in full: the description, its CIE, the code.
struct FrameDescription {
  const uint8_t* fde = nullptr;  // from its length on
  uint64_t fde_size = 0;         // length included
  const uint8_t* cie = nullptr;
  uint64_t cie_size = 0;
  // Where the code that the pc lies in is: for a copy the copy. The description's own is ignored.
  uint64_t function_start = 0;
  uint64_t function_size = 0;
};

// Finds the description for a pc, which may be any number. Returns false if there is none.
using FindDescription = bool (*)(uint64_t pc, FrameDescription& description, void* context);

// By DWARF number: rax rdx rcx rbx rsi rdi rbp rsp r8 to r15.
constexpr uint32_t register_count = 16;
constexpr uint32_t rbp = 6;
constexpr uint32_t rsp = 7;

struct Registers {
  uint64_t value[register_count];  // nothing where the register is not known
  uint32_t known = 0;              // a bit for each

  [[nodiscard]] bool is_known(uint32_t number) const { return (known >> number & 1) != 0; }
  void set(uint32_t number, uint64_t to) {
    value[number] = to;
    known |= 1u << number;
  }
  void forget(uint32_t number) { known &= ~(1u << number); }
};

struct Walk {
  uint64_t pc = 0;  // the next instruction that the frame runs
  // Nothing was called there: the pc itself is what is looked up, not the byte before it.
  bool interrupted = true;
  Registers registers;
  // Where pc is kept: on the stack, or in the context of a signal. Null: in a sleeping thread.
  uint64_t* pc_slot = nullptr;
  // Where the value that a register has in this frame is kept. Null: in the register itself, or
  // nobody knows. An interrupted prologue or epilogue may hold the same value at a second place,
  // the other one of register and stack.
  uint64_t* saved[register_count];
  // The walk may read the words between these addresses. A caller that knows of more readable
  // memory may raise the end after begin_walk.
  uint64_t readable_start = 0;
  uint64_t readable_end = 0;

  // For step() only.
  enum class Code : uint8_t { not_looked_up, described, trampoline, unknown };
  Code code = Code::not_looked_up;
  FrameDescription description;
  static constexpr uint64_t no_code = 1;
  uint64_t readable_code = no_code;  // a page that was tried
  uint32_t stacks = 0;
};

enum class Step : uint8_t {
  caller,  // the walk is at the caller now
  bottom,  // there is none
  lost,    // there may be one
};

// At what a signal interrupted: a handler's third argument, into which pc_slot and saved point.
void begin_walk(Walk& walk, ucontext_t& interrupted);
// At a sleeping thread. Only these two are known; others become known where a frame saved them.
void begin_walk(Walk& walk, uint64_t pc, uint64_t stack_pointer);

Step step(Walk& walk, FindDescription find, void* context);

}  // namespace stab::rt
