// SPDX-License-Identifier: MIT
// The data and code that stay in place while functions move again and again: records of which
// functions were called, and a stub for each address of code that the program may keep (functions,
// labels, landing pads).
//
//   | called | stubs (functions, then labels) | exception tables |
//   | descriptions of functions' stubs | of labels' stubs |
//
// A stub is `jmp copy`. All stubs are written elsewhere and put in place at once, so code that
// anybody may be running is never written to.
//
// The stub of a function is entered by a call or by a jump in place of a call, so the frame is as
// after a call. A part that begins in a frame (unwind_tables.h) is an exception: its stub is
// entered by a jump from inside that frame. The stub of a label is entered by a jump from inside
// the function (a computed goto), or by the unwinder as a landing pad, so the frame is built, and
// is as at the label itself. It is the same in all layouts (pads.h, invariant 2).
#pragma once

#include <stdint.h>

#include "runtime/abi/abi.h"

namespace stab::rt {

struct Switchboard {
  static constexpr uint64_t stub_bytes = 8;
  static constexpr uint64_t label_header_bytes = 20;  // at the start of a label's description

  uint8_t* start = nullptr;  // nullptr: functions move only once
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
  // The descriptions have the form of .eh_frame_hdr and .eh_frame.
  [[nodiscard]] uint8_t* descriptions() const { return exceptions() + exceptions_size; }
  [[nodiscard]] uint8_t* label_descriptions() const { return exceptions() + tables_size; }

  // Finds the label whose stub starts at this address. Returns false if there is no such label.
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

// Computes the sizes that a table needs. `description_bytes` is the size of the descriptions of
// functions' stubs. The caller sets `start`.
Switchboard measure_switchboard(const abi::Header& table, uint64_t description_bytes);

// The size of the description of a label's stub: header, CIE, FDE, end. It is 0 if the label's
// function has no description.
uint64_t label_description_size(const abi::Header& table, uint32_t label);

// Writes stubs that trap, and the exception tables. `base` is the lowest address of the image.
void write_switchboard(const Switchboard& board, const abi::Header& table, const uint8_t* base);

// Makes the tables read-only. Returns false if the kernel refuses.
bool seal(const Switchboard& board);

// The next version of the stubs: the existing stubs, some of which get another target.
class StubsDraft {
 public:
  explicit StubsDraft(const Switchboard& board);
  StubsDraft(const StubsDraft&) = delete;
  StubsDraft& operator=(const StubsDraft&) = delete;
  ~StubsDraft();

  [[nodiscard]] bool has_memory() const { return memory_ != nullptr; }
  // `stub` is one of the board's stubs; from then on it leads to `target`.
  void lead(const uint8_t* stub, uint64_t target);
  // Replaces all stubs in one step, as other threads see it. Returns false, and changes nothing, if
  // the kernel refuses.
  bool put_in_place();

 private:
  const Switchboard& board_;
  uint8_t* memory_ = nullptr;
};

// Writes `jmp target`, over 5 of 8 aligned bytes.
void write_jump(uint8_t* at, const uint8_t* target);

}  // namespace stab::rt
