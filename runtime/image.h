// SPDX-License-Identifier: MIT
// One executable or shared library, its table, and the copies of its functions.
//
// Glossary: the *original* is the code where it was linked; its entry stays the address of the
// function for everybody who takes it. A *copy* is the code elsewhere, with the same inner layout.
// The *entry* is patched with a jump to it.
//
// Invariants:
//   1. The original stays valid code, but for the entry: what reaches it behind the entry runs on
//   in it.
//   2. A copy refers to fixed places, to copies of other functions, and to stubs; never to another
//   copy's inside.
//   3. Nothing of the program runs between the first change of its text and the last.
#pragma once

#include <elf.h>
#include <stdint.h>

#include "runtime/abi.h"
#include "runtime/heap.h"
#include "runtime/random.h"
#include "runtime/validate.h"

namespace stab::rt {

constexpr uint32_t no_copy = UINT32_MAX;
constexpr uint32_t saved_bytes =
    16;  // of the beginning of each original, the patch may cut a field in two

struct Image {
  uint8_t* base = nullptr;
  const abi::Note* note = nullptr;
  const abi::Header* table = nullptr;
  CodeHeap heap;
  // Arrays by function, in one mapping.
  uint8_t* arrays = nullptr;
  uint64_t arrays_size = 0;
  uint32_t* copies = nullptr;  // bytes from the start of the heap, or no_copy
  uint8_t* saved = nullptr;    // saved_bytes each
  // Functions that have copies, by address of the copy.
  uint32_t* order = nullptr;
  uint32_t moved = 0;
  bool label_stubs = false;  // else labels are in the copies: faster, and final
  const uint8_t* unwind_header = nullptr;
  const uint8_t* unwind_frames = nullptr;  // the clones, ended by a zero word
  uint64_t unwind_frames_size = 0;
  void* debugger_entry = nullptr;
  uint64_t debugger_size = 0;
  // For the report.
  uint32_t altered = 0;
  uint64_t moved_bytes = 0;
  uint64_t setup_ns = 0;

  [[nodiscard]] const abi::Function* functions() const {
    return elements<abi::Function>(*table, table->functions);
  }
  [[nodiscard]] uint32_t count() const { return table->functions.count; }
  [[nodiscard]] uint8_t* original(uint32_t f) const { return base + functions()[f].start; }
  [[nodiscard]] bool has_copy(uint32_t f) const { return copies[f] != no_copy; }
  [[nodiscard]] uint8_t* copy(uint32_t f) const { return heap.start + copies[f]; }
  [[nodiscard]] uint8_t* stub(uint32_t label) const { return heap.stubs() + uint64_t{label} * 8; }
  [[nodiscard]] const char* name(uint32_t f) const {
    return elements<char>(*table, table->names) + functions()[f].name;
  }
};

// With its jump tables.
uint32_t copy_size(const abi::Function& function);

// The function whose copy holds this address, or no_copy.
uint32_t function_at(const Image& image, uint64_t address);

// Finds the table of the image and checks it. nullptr, or why the image cannot be randomized.
const char* open_image(Image& image, const abi::Note* note, const Elf64_Ehdr* elf);

// Moves all functions whose code is as it was linked. nullptr, or why nothing was moved.
const char* randomize(Image& image, Random& random);

// Forgets the copies. Nothing may run in them any more.
void close_image(Image& image);

}  // namespace stab::rt
