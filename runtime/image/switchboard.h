// SPDX-License-Identifier: MIT
// What stays where it is while functions move again and again: which of them were called, and a
// stub for each address of code that the program may keep (functions, labels, landing pads).
//
//   | called | stubs (functions, then labels) | exception tables |
//   | descriptions of functions' stubs | of labels' stubs |
//
// A stub is `jmp copy`. All of them are written elsewhere and put in place at once, so no code that
// anybody may be running is ever written to.
//
// The stub of a function is entered by a call, or by a jump in place of one: the frame is that of a
// function's entry. The stub of a label is entered by a jump from inside the function (a computed
// goto), or by the unwinder as a landing pad: the frame is built, and is that of the label itself.
// It is the same in all layouts (pads.h, invariant 2).
#pragma once

#include <stdint.h>

#include "runtime/abi/abi.h"

namespace stab::rt {

struct Switchboard {
  static constexpr uint64_t stub_bytes = 8;
  static constexpr uint64_t description_bytes = 96;   // of the functions' stubs
  static constexpr uint64_t label_header_bytes = 20;  // of a label's description

  uint8_t* start = nullptr;  // null: functions move once
  uint64_t data_size = 0;    // marks: writable
  uint64_t stubs_size = 0;   // executable
  uint64_t tables_size = 0;  // read-only
  uint64_t labels_size = 0;  // writable
  uint64_t exceptions_size = 0;
  uint32_t functions = 0;
  uint32_t labels = 0;

  [[nodiscard]] bool in_use() const { return start != nullptr; }
  [[nodiscard]] uint64_t size() const { return data_size + stubs_size + tables_size + labels_size; }
  [[nodiscard]] uint8_t* called(uint32_t f) const { return start + f; }
  [[nodiscard]] uint8_t* function_stub(uint32_t f) const {
    return start + data_size + f * stub_bytes;
  }
  [[nodiscard]] uint8_t* label_stub(uint32_t label) const {
    return function_stub(functions) + label * stub_bytes;
  }
  [[nodiscard]] uint8_t* exceptions() const { return start + data_size + stubs_size; }
  // In the form of .eh_frame_hdr and .eh_frame.
  [[nodiscard]] uint8_t* descriptions() const { return exceptions() + exceptions_size; }
  [[nodiscard]] uint8_t* label_descriptions() const { return exceptions() + tables_size; }

  // The label whose stub this address is the start of; false: none.
  [[nodiscard]] bool label_of_stub(uint64_t address, uint32_t& label) const {
    return is_stub(address, label_stub(0), labels, label);
  }
  [[nodiscard]] bool function_of_stub(uint64_t address, uint32_t& f) const {
    return is_stub(address, function_stub(0), functions, f);
  }

 private:
  [[nodiscard]] bool is_stub(uint64_t address, const uint8_t* first, uint32_t count,
                             uint32_t& which) const {
    const uint64_t offset = address - reinterpret_cast<uint64_t>(first);
    which = static_cast<uint32_t>(offset / stub_bytes);
    return in_use() && offset / stub_bytes < count && offset % stub_bytes == 0;
  }
};

// The sizes that a table asks for; `start` is the caller's to set.
Switchboard measure_switchboard(const abi::Header& table);

// Of the description of a label's stub: header, CIE, FDE, end. 0: its function has none.
uint64_t label_description_size(const abi::Header& table, uint32_t label);

// Stubs that trap, and exception tables. `base` is the lowest address of the image.
void write_switchboard(const Switchboard& board, const abi::Header& table, const uint8_t* base);

// The tables become read-only. Returns false if the kernel refuses.
bool seal(const Switchboard& board);

// The next stubs: those that there are, but for those that are given another target.
class StubsDraft {
 public:
  explicit StubsDraft(const Switchboard& board);
  StubsDraft(const StubsDraft&) = delete;
  StubsDraft& operator=(const StubsDraft&) = delete;
  ~StubsDraft();

  [[nodiscard]] bool has_memory() const { return memory_ != nullptr; }
  // `stub`: one of the board's, which leads to `target` then.
  void lead(const uint8_t* stub, uint64_t target);
  // In one step, as other threads see it. Returns false if the kernel refuses: nothing has changed.
  bool put_in_place();

 private:
  const Switchboard& board_;
  uint8_t* memory_ = nullptr;
};

// `jmp target`, over 5 bytes of an aligned 8.
void write_jump(uint8_t* at, const uint8_t* target);

}  // namespace stab::rt
