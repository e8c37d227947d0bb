// SPDX-License-Identifier: MIT
// What stays where it is while functions move again and again: where each function is now, which
// ones were called, and the addresses that the program may keep (labels, landing pads).
//
//   | targets (functions, then labels) | called | present | stubs | exception tables |
//
// An entry and a stub are `jmp *target`: a move is one aligned store of 8 bytes, and no code that
// anybody may be running is ever written to.
#pragma once

#include <stdint.h>

#include "runtime/abi/abi.h"

namespace stab::rt {

struct Switchboard {
  uint8_t* start = nullptr;  // null: functions move once
  uint64_t data_size = 0;    // targets and marks: writable
  uint64_t stubs_size = 0;   // executable
  uint64_t tables_size = 0;  // read-only
  uint32_t functions = 0;

  [[nodiscard]] bool in_use() const { return start != nullptr; }
  [[nodiscard]] uint64_t size() const { return data_size + stubs_size + tables_size; }
  [[nodiscard]] uint64_t* target(uint32_t f) const {
    return reinterpret_cast<uint64_t*>(start) + f;
  }
  [[nodiscard]] uint64_t* label_target(uint32_t label) const { return target(functions + label); }
  [[nodiscard]] uint8_t* called(uint32_t f) const {
    return start + uint64_t{functions} * 8 + label_bytes + f;
  }
  // The number of the present layout, on a cache line of its own.
  [[nodiscard]] uint8_t* present() const { return start + present_offset; }
  [[nodiscard]] uint8_t* stub(uint32_t label) const {
    return start + data_size + uint64_t{label} * 8;
  }
  [[nodiscard]] uint8_t* exceptions() const { return start + data_size + stubs_size; }

  // The label whose stub this address is the start of; false: none.
  [[nodiscard]] bool label_of_stub(uint64_t address, uint32_t& label) const {
    const uint64_t offset = address - reinterpret_cast<uint64_t>(stub(0));
    label = static_cast<uint32_t>(offset / 8);
    return in_use() && offset < label_bytes && offset % 8 == 0;
  }

  uint64_t label_bytes = 0;
  uint64_t present_offset = 0;
};

// The sizes that a table asks for; `start` is the caller's to set.
Switchboard measure_switchboard(const abi::Header& table);

// Stubs and exception tables. `base` is the lowest address of the image.
void write_switchboard(const Switchboard& board, const abi::Header& table, const uint8_t* base);

// Returns false if the kernel refuses.
bool seal(const Switchboard& board);

// `jmp *target(%rip)`, over 6 bytes of an aligned 8.
void write_indirect_jump(uint8_t* at, const uint64_t* target);

}  // namespace stab::rt
