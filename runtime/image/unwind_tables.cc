// SPDX-License-Identifier: MIT
#include "runtime/image/unwind_tables.h"

#include <stdint.h>

#include "runtime/base/byte_reader.h"
#include "runtime/base/memory.h"
#include "runtime/image/pads.h"

namespace stab::rt {
namespace {

constexpr uint64_t header_size = 12;
constexpr uint64_t entry_size = 8;
constexpr uint64_t terminator = 4;
constexpr uint32_t absolute_lsda = abi::function_lsda_absolute4 | abi::function_lsda_absolute8;

uint32_t difference(const void* to, const void* from) {
  return static_cast<uint32_t>(reinterpret_cast<uint64_t>(to) - reinterpret_cast<uint64_t>(from));
}

// Adjusts a pc-relative field that was copied from `from` to `to`. Zero means that the field is
// unused.
void follow(uint8_t* to, const uint8_t* from) {
  const uint32_t value = load32(from);
  if (value != 0) store32(to, value + difference(from, to));
}

uint64_t cies_size(const Image& image) {
  const auto* cies = elements<abi::Cie>(*image.table, image.table->cies);
  uint64_t size = 0;
  for (uint32_t i = 0; i < image.table->cies.count; ++i) size += cies[i].size;
  return size;
}

uint8_t* clone_cies(const Image& image, uint8_t* at) {
  const auto* cies = elements<abi::Cie>(*image.table, image.table->cies);
  for (uint32_t i = 0; i < image.table->cies.count; ++i) {
    const uint8_t* from = image.base + cies[i].offset;
    copy_bytes(at, from, cies[i].size);
    if (cies[i].personality_field != 0)
      follow(at + cies[i].personality_field, from + cies[i].personality_field);
    at += cies[i].size;
  }
  return at;
}

uint64_t offset_of_cie(const Image& image, uint32_t index) {
  const auto* cies = elements<abi::Cie>(*image.table, image.table->cies);
  uint64_t offset = 0;
  for (uint32_t i = 0; i < index; ++i) offset += cies[i].size;
  return offset;
}

// Sets the pointer to the exception table at `field` of a clone of the FDE at `from`.
void point_at_exceptions(const Image& image, const abi::Function& function, uint8_t* field,
                         const uint8_t* from) {
  const bool absolute = (function.flags & absolute_lsda) != 0;
  if (!image.board.in_use() || function.exceptions_size == 0) {
    if (!absolute) follow(field, from);
    return;
  }
  const uint8_t* table = image.board.exceptions() + function.exceptions;
  const auto address = reinterpret_cast<uint64_t>(table);
  if ((function.flags & abi::function_lsda_absolute8) != 0)
    __builtin_memcpy(field, &address, sizeof address);
  else
    store32(field, absolute ? static_cast<uint32_t>(address) : difference(table, field));
}

// Clones the original's FDE for the same code at `start`.
void clone_fde(const Image& image, uint32_t f, const uint8_t* start, const uint8_t* cie,
               uint8_t* at) {
  const abi::Function& function = image.functions()[f];
  const uint8_t* from = image.base + function.fde;
  copy_bytes(at, from, function.fde_size);
  store32(at + 4, difference(at + 4, cie));
  store32(at + 8, difference(start, at + 8));
  if (function.lsda_field != 0)
    point_at_exceptions(image, function, at + function.lsda_field, from + function.lsda_field);
}

// The state after a call: the return address is on top of the stack.
constexpr uint8_t after_call_cie[] = {
    20,   0,    0,  0,                        // length
    0,    0,    0,  0,    1,    'z', 'R', 0,  // version 1, relative pointers
    1,    0x78, 16, 1,    0x1b,               // code 1, data -8, return column
    0x0c, 7,    8,  0x90, 1,    0,   0};      // at rsp + 8, saved below that
constexpr uint32_t after_call_rules = 17;     // the place of the last line
constexpr int64_t data_align = -8;
constexpr uint64_t return_column = 16;
constexpr uint32_t after_call_fde_size = 20;

// Whether these instructions describe the same state as after_call_cie.
bool has_after_call_rules(ByteReader& rules) {
  for (uint32_t i = after_call_rules; i < sizeof after_call_cie && after_call_cie[i] != 0; ++i)
    if (rules.byte() != after_call_cie[i]) return false;
  while (!rules.at_end())
    if (rules.byte() != 0) return false;
  return !rules.failed();
}

// Whether these instructions change nothing at a function's first instruction.
bool begins_by_advancing(ByteReader& rules) {
  uint8_t code = 0;
  while (!rules.at_end() && code == 0) code = rules.byte();
  if (code >> 6 == 1) return (code & 0x3f) != 0;
  if (code >= 2 && code <= 4) return rules.fixed(1u << (code - 2)) != 0;
  return code == 0 && !rules.failed();
}

// Whether the state at a described function's first instruction is the state after a call. Returns
// false, too, if the description is unusual: the function's own description is always right.
bool begins_after_call(const Image& image, const abi::Function& function) {
  const abi::Cie& common = elements<abi::Cie>(*image.table, image.table->cies)[function.cie];
  ByteReader cie(image.base + common.offset, common.size);
  cie.skip(8);
  const uint8_t version = cie.byte();
  uint8_t letter = cie.byte();
  const bool augmented = letter == 'z';
  bool is_signal_frame = false;
  for (; letter != 0; letter = cie.byte()) is_signal_frame |= letter == 'S';
  cie.uleb();
  const bool usual = cie.sleb() == data_align;
  const uint64_t column = version == 1 ? cie.byte() : cie.uleb();
  if (augmented) cie.skip(cie.uleb());
  if (is_signal_frame || !usual || column != return_column || !has_after_call_rules(cie))
    return false;
  ByteReader fde(image.base + function.fde, function.fde_size);
  fde.skip(16);
  if (augmented) fde.skip(fde.uleb());
  return begins_by_advancing(fde);
}

// The size of the code before the copy, or 0.
uint32_t lead_size(const Image& image, const Layout& layout, uint32_t f) {
  return &layout == &image.first() && image.marks_calls() && !image.anchored(f) ? mark_code : 0;
}

// Version 1. The pointer to the frames and the table are relative to here, all as signed 32-bit
// numbers.
void write_header(uint8_t* header, const uint8_t* frames, uint32_t count) {
  header[1] = 0x1b;
  header[2] = 0x03;
  header[3] = 0x3b;
  store32(header + 4, difference(frames, header + 4));
  store32(header + 8, count);
  __atomic_store_n(header, 1, __ATOMIC_RELEASE);
}

// Writes a table of descriptions that grow upwards from `frames`, and the search table before them.
class Writer {
 public:
  Writer(const Image& image, uint8_t* header, uint64_t most_entries)
      : image_(image),
        header_(header),
        entry_(header + header_size),
        frames_(entry_ + most_entries * entry_size),
        after_call_cie_(clone_cies(image, frames_)),
        at_(after_call_cie_ + sizeof after_call_cie) {
    copy_bytes(after_call_cie_, after_call_cie, sizeof after_call_cie);
  }

  // Clones the function's description for its code at `start`.
  uint8_t* clone(uint32_t f, const uint8_t* start) {
    const abi::Function& function = image_.functions()[f];
    uint8_t* fde = at_;
    clone_fde(image_, f, start, frames_ + offset_of_cie(image_, function.cie), fde);
    at_ += function.fde_size;
    return fde;
  }

  // Code must be entered in the order of addresses.
  void enter(const uint8_t* code, const uint8_t* description) {
    store32(entry_, difference(code, header_));
    store32(entry_ + 4, difference(description, header_));
    entry_ += entry_size;
    ++entries_;
  }

  // Enters code in which the state at every instruction is the state after a call.
  void enter_after_call(const uint8_t* code, uint64_t size) {
    enter(code, at_);
    fill_bytes(at_, 0, after_call_fde_size);
    store32(at_, after_call_fde_size - 4);
    store32(at_ + 4, difference(at_ + 4, after_call_cie_));
    store32(at_ + 8, difference(code, at_ + 8));
    store32(at_ + 12, static_cast<uint32_t>(size));
    at_ += after_call_fde_size;
  }

  // Enters one instruction that runs before the first one of a part. Only the rules of the first
  // instruction count there. The frame has a pad already, which is the same in all layouts.
  void enter_before_part(uint32_t f, const uint8_t* code, uint32_t size) {
    uint8_t* fde = clone(f, code);
    pad_description(image_, f, image_.first().pads[f], fde);
    store32(fde + 12, size);
    enter(code, fde);
  }

  [[nodiscard]] const uint8_t* frames() const { return frames_; }

  // Returns the size of the descriptions, from frames() on.
  uint64_t finish() {
    store32(at_, 0);
    write_header(header_, frames_, entries_);
    return static_cast<uint64_t>(at_ + terminator - frames_);
  }

 private:
  const Image& image_;
  uint8_t* header_;
  uint8_t* entry_;
  uint8_t* frames_;
  uint8_t* after_call_cie_;
  uint8_t* at_;
  uint32_t entries_ = 0;
};

bool is_part(const Image& image, uint32_t f) {
  return (image.uses[f] & begins_in_frame) != 0;
}

// Nobody knows whether a function without a description begins in a frame, so its stub and its mark
// have no description, either.
bool is_described(const Image& image, uint32_t f) {
  return image.functions()[f].fde != 0;
}

uint64_t most_bytes_of_fde(const Image& image, uint32_t f) {
  return align_up(image.functions()[f].fde_size, 4);
}

// Without entries and FDEs.
uint64_t bytes_of_table(const Image& image) {
  return header_size + align_up(cies_size(image), 8) + sizeof after_call_cie + terminator;
}

}  // namespace

void find_parts(Image& image) {
  for (uint32_t f = 0; f < image.count(); ++f)
    if (is_described(image, f) && !begins_after_call(image, image.functions()[f]))
      image.uses[f] |= begins_in_frame;
}

uint64_t unwind_bytes(const Image& image) {
  uint64_t size = bytes_of_table(image);
  for (uint32_t f = 0; f < image.count(); ++f) {
    const uint64_t own = most_bytes_of_fde(image, f);
    const uint64_t mark = is_part(image, f) ? own : after_call_fde_size;
    size += 2 * entry_size + own + (image.board.in_use() ? mark : 0);
  }
  return size;
}

void build_unwind(const Image& image, Layout& layout) {
  uint8_t* header = layout.unwind();
  Writer writer(image, header, 2 * uint64_t{layout.count});
  // The descriptions are in the order of the tables that they come from; the search table is sorted
  // by address.
  for (uint32_t f = 0; f < image.count(); ++f) {
    if (!layout.has(f)) continue;
    layout.descriptions[f] = 0;
    if (!is_described(image, f)) continue;
    uint8_t* fde = writer.clone(f, layout.copy(f));
    pad_description(image, f, layout.pads[f], fde);
    layout.descriptions[f] = static_cast<uint32_t>(fde - header);
  }
  for (uint32_t rank = 0; rank < layout.count; ++rank) {
    const uint32_t f = layout.order[rank];
    const uint32_t lead = lead_size(image, layout, f);
    const uint8_t* mark = layout.copy(f) - lead;
    if (lead != 0 && is_part(image, f))
      writer.enter_before_part(f, mark, lead);
    else if (lead != 0 && is_described(image, f))
      writer.enter_after_call(mark, lead);
    if (layout.descriptions[f] != 0) writer.enter(layout.copy(f), layout.description(f));
  }
  layout.unwind_header = header;
  layout.unwind_frames = writer.frames();
  layout.unwind_frames_size = writer.finish();
}

uint64_t stub_description_bytes(const Image& image) {
  constexpr uint64_t stubs_after_call = entry_size + after_call_fde_size;
  uint64_t size = bytes_of_table(image) + stubs_after_call;
  for (uint32_t f = 0; f < image.count(); ++f)
    if (is_part(image, f) || !is_described(image, f))
      size += entry_size + most_bytes_of_fde(image, f) + stubs_after_call;
  return size;
}

// The stub of each part has a description, the stub of a function without a description has none,
// and the other stubs between two such stubs share one.
void describe_stubs(const Image& image) {
  const Switchboard& board = image.board;
  uint64_t most_entries = 1;
  for (uint32_t f = 0; f < image.count(); ++f)
    most_entries += is_part(image, f) || !is_described(image, f) ? 2 : 0;
  Writer writer(image, board.descriptions(), most_entries);
  uint32_t first = 0;
  const auto enter_stubs_before = [&](uint32_t end) {
    if (first < end)
      writer.enter_after_call(board.function_stub(first), (end - first) * Switchboard::stub_bytes);
    first = end + 1;
  };
  for (uint32_t f = 0; f < image.count(); ++f) {
    if (!is_part(image, f) && is_described(image, f)) continue;
    enter_stubs_before(f);
    if (is_part(image, f))
      writer.enter_before_part(f, board.function_stub(f), Switchboard::stub_bytes);
  }
  enter_stubs_before(image.count());
  writer.finish();
}

namespace {

// Copies an FDE or CIE and adjusts its pc-relative field (offset 0: no field). No byte is written
// twice, because other threads write the same bytes and may be reading them.
void copy_once(uint8_t* to, const uint8_t* from, uint32_t size, uint32_t field) {
  if (field == 0) return copy_bytes(to, from, size);
  copy_bytes(to, from, field);
  const uint32_t value = load32(from + field);
  store32(to + field, value == 0 ? 0 : value + difference(from + field, to + field));
  copy_bytes(to + field + 4, from + field + 4, size - field - 4);
}

// Clones the first layout's description, for the function's code as if it began at `start`.
void clone_first_fde(const Image& image, uint32_t f, const uint8_t* start, const uint8_t* cie,
                     uint8_t* at) {
  constexpr uint32_t rest = 12;  // the bytes behind length, CIE and start
  const abi::Function& function = image.functions()[f];
  const uint8_t* from = image.first().description(f);
  const bool relative = function.lsda_field > rest && (function.flags & absolute_lsda) == 0;
  copy_bytes(at, from, 4);
  store32(at + 4, difference(at + 4, cie));
  store32(at + 8, difference(start, at + 8));
  copy_once(at + rest, from + rest, function.fde_size - rest,
            relative ? function.lsda_field - rest : 0);
}

}  // namespace

// The descriptions of a function's labels overlap, so each is alone in a table. All threads that
// write one write the same bytes, and its first byte last.
uint8_t* describe_label_stub(const Image& image, uint32_t label) {
  static_assert(header_size + entry_size == Switchboard::label_header_bytes);
  const abi::Header& table = *image.table;
  const abi::Label& place = elements<abi::Label>(table, table.labels)[label];
  const abi::Function& function = image.functions()[place.function];
  if (function.fde == 0 || !image.first().has(place.function)) return nullptr;
  uint8_t* header = image.board.label_descriptions();
  for (uint32_t i = 0; i < label; ++i) header += label_description_size(table, i);
  if (__atomic_load_n(header, __ATOMIC_ACQUIRE) != 0) return header;
  const abi::Cie& from = elements<abi::Cie>(table, table.cies)[function.cie];
  uint8_t* entry = header + header_size;
  uint8_t* cie = entry + entry_size;
  uint8_t* fde = cie + from.size;
  const uint8_t* start = image.board.label_stub(label) - place.offset;
  copy_once(cie, image.base + from.offset, from.size, from.personality_field);
  clone_first_fde(image, place.function, start, cie, fde);
  store32(entry, difference(start, header));
  store32(entry + 4, difference(fde, header));
  write_header(header, cie, 1);
  return header;
}

}  // namespace stab::rt
