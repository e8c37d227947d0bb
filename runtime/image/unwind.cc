// SPDX-License-Identifier: MIT
#include "runtime/image/unwind.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>

#include "runtime/base/memory.h"
#include "runtime/image/image.h"
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

void clone_fde(const Image& image, const Layout& layout, uint32_t f, const uint8_t* cie,
               uint8_t* at) {
  const abi::Function& function = image.functions()[f];
  const uint8_t* from = image.base + function.fde;
  copy_bytes(at, from, function.fde_size);
  store32(at + 4, difference(at + 4, cie));
  store32(at + 8, difference(layout.copy(f), at + 8));
  if (function.lsda_field != 0)
    point_at_exceptions(image, function, at + function.lsda_field, from + function.lsda_field);
  pad_description(image, f, layout.pads[f], at);
}

// The state at each function's entry: the return address is on top of the stack.
constexpr uint8_t entry_cie[] = {
    20,   0,    0,  0,                        // length
    0,    0,    0,  0,    1,    'z', 'R', 0,  // version 1, relative pointers
    1,    0x78, 16, 1,    0x1b,               // code 1, data -8, return column
    0x0c, 7,    8,  0x90, 1,    0,   0};      // at rsp + 8, saved below that
constexpr uint32_t entry_fde_size = 20;

// The size of the code before the copy, or 0.
uint32_t lead_size(const Image& image, const Layout& layout, uint32_t f) {
  return &layout == &image.first() && image.marks_calls() && !image.anchored(f) ? mark_code : 0;
}

// Describes code in which the state at every instruction is the state at a function's entry.
void write_entry_fde(const uint8_t* code, uint32_t size, const uint8_t* cie, uint8_t* at) {
  fill_bytes(at, 0, entry_fde_size);
  store32(at, entry_fde_size - 4);
  store32(at + 4, difference(at + 4, cie));
  store32(at + 8, difference(code, at + 8));
  store32(at + 12, size);
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

uint64_t unwind_bytes(const Image& image) {
  const uint64_t mark = entry_size + (image.board.in_use() ? entry_fde_size : 0);
  uint64_t size = header_size + align_up(cies_size(image), 8) + sizeof entry_cie + terminator;
  for (uint32_t f = 0; f < image.count(); ++f)
    size += mark + entry_size + align_up(image.functions()[f].fde_size, 4);
  return size;
}

void build_unwind(const Image& image, Layout& layout) {
  uint8_t* header = layout.unwind();
  uint8_t* frames = header + header_size + 2 * layout.count * entry_size;
  uint8_t* own_cie = clone_cies(image, frames);
  copy_bytes(own_cie, entry_cie, sizeof entry_cie);
  uint8_t* at = own_cie + sizeof entry_cie;
  // The descriptions are in the order of the tables that they come from; the search table is sorted
  // by address.
  for (uint32_t f = 0; f < image.count(); ++f) {
    const abi::Function& function = image.functions()[f];
    if (!layout.has(f)) continue;
    layout.descriptions[f] = function.fde == 0 ? 0 : static_cast<uint32_t>(at - header);
    if (function.fde == 0) continue;
    clone_fde(image, layout, f, frames + offset_of_cie(image, function.cie), at);
    at += function.fde_size;
  }
  uint8_t* entry = header + header_size;
  uint32_t entries = 0;
  const auto enter = [&](const uint8_t* code, const uint8_t* description) {
    store32(entry, difference(code, header));
    store32(entry + 4, difference(description, header));
    entry += entry_size;
    ++entries;
  };
  for (uint32_t rank = 0; rank < layout.count; ++rank) {
    const uint32_t f = layout.order[rank];
    if (const uint32_t lead = lead_size(image, layout, f)) {
      enter(layout.copy(f) - lead, at);
      write_entry_fde(layout.copy(f) - lead, lead, own_cie, at);
      at += entry_fde_size;
    }
    if (layout.descriptions[f] != 0) enter(layout.copy(f), layout.description(f));
  }
  store32(at, 0);
  write_header(header, frames, entries);
  layout.unwind_header = header;
  layout.unwind_frames = frames;
  layout.unwind_frames_size = static_cast<uint64_t>(at + terminator - frames);
}

void describe_stubs(const Switchboard& board) {
  static_assert(header_size + entry_size + sizeof entry_cie + entry_fde_size + terminator <=
                Switchboard::description_bytes);
  uint8_t* header = board.descriptions();
  uint8_t* entry = header + header_size;
  uint8_t* cie = entry + entry_size;
  uint8_t* fde = cie + sizeof entry_cie;
  copy_bytes(cie, entry_cie, sizeof entry_cie);
  write_entry_fde(board.function_stub(0), board.functions * Switchboard::stub_bytes, cie, fde);
  store32(fde + entry_fde_size, 0);
  store32(entry, difference(board.function_stub(0), header));
  store32(entry + 4, difference(fde, header));
  write_header(header, cie, 1);
}

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

namespace {

using FindObject = int (*)(void*, dl_find_object*);

int find_before_start(void* pc, dl_find_object* result) {
  prepare_find_object(BeforeStart::outside());
  return find_object_of_libc(pc, result);
}

int find_nothing(void* /*pc*/, dl_find_object* /*result*/) {
  return -1;
}

FindObject next_find_object = find_before_start;

// Returns the image whose stub this address is, and the stub's descriptions. Returns nullptr if it
// is not a stub's address or nothing describes the stub.
const Image* image_with_stub(uint64_t address, uint8_t*& descriptions) {
  uint32_t which = 0;
  if (const Image* image = image_of_function_stub(address, which)) {
    descriptions = image->board.descriptions();
    return image;
  }
  const Image* image = image_of_stub(address, which);
  if (image == nullptr) return nullptr;
  descriptions = describe_label_stub(*image, which);
  return descriptions == nullptr ? nullptr : image;
}

}  // namespace

int find_object_of_libc(void* pc, dl_find_object* result) {
  return next_find_object(pc, result);
}

const char* file_of(const void* address) {
  dl_find_object found;
  if (find_object_of_libc(const_cast<void*>(address), &found) != 0 ||
      found.dlfo_link_map == nullptr || found.dlfo_link_map->l_name == nullptr)
    return nullptr;
  return *found.dlfo_link_map->l_name == '\0' ? nullptr : found.dlfo_link_map->l_name;
}

// libc has had this function since 2.35.
void prepare_find_object(const OutsideHandlers& /*proof*/) {
  void* found = dlsym(RTLD_NEXT, "_dl_find_object");
  next_find_object = found == nullptr ? find_nothing : reinterpret_cast<FindObject>(found);
}

}  // namespace stab::rt

// The unwinder asks _dl_find_object for the frame descriptions of a pc. Our function is exported
// from the executable and so precedes libc's: it answers for copies, and asks libc's for everything
// else. It takes no locks and allocates nothing.
extern "C" __attribute__((visibility("default"))) int _dl_find_object(void* pc,
                                                                      dl_find_object* result) {
  using namespace stab::rt;
  const auto address = reinterpret_cast<uint64_t>(pc);
  const auto [image, layout] = locate(address);
  uint8_t* descriptions = nullptr;
  const Image* stubs = image == nullptr ? image_with_stub(address, descriptions) : nullptr;
  if (image == nullptr && stubs == nullptr) return find_object_of_libc(pc, result);
  // Everything is as libc answers for the original, except where the code and its descriptions are.
  if (find_object_of_libc((image != nullptr ? image : stubs)->base, result) != 0)
    fill_bytes(result, 0, sizeof *result);
  if (stubs != nullptr) {
    result->dlfo_map_start = stubs->board.start;
    result->dlfo_map_end = stubs->board.start + stubs->board.size();
    result->dlfo_eh_frame = descriptions;
    return 0;
  }
  result->dlfo_map_start = layout->start;
  result->dlfo_map_end = layout->start + layout->size();
  result->dlfo_eh_frame = const_cast<uint8_t*>(layout->unwind_header);
  return 0;
}

// For profilers inside the program: returns the instruction's address in the original of the copy
// that `pc` is in. Any other address is returned unchanged. It may be called in any handler and
// during an epoch: it reads only data that locate() and the frame that runs there keep. The number
// in the name is the version of this contract.
extern "C" __attribute__((visibility("default"))) const void* stab_original_address_1(
    const void* pc) {
  using namespace stab::rt;
  const auto address = reinterpret_cast<uint64_t>(pc);
  uint32_t f = no_copy;
  const auto [image, layout] = locate(address);
  if (image == nullptr) {
    if (const Image* entered = image_of_function_stub(address, f)) return entered->original(f);
    uint32_t label = 0;
    const Image* stubs = image_of_stub(address, label);
    if (stubs == nullptr) return pc;
    const auto* labels = elements<stab::abi::Label>(*stubs->table, stubs->table->labels);
    return stubs->original(labels[label].function) + labels[label].offset;
  }
  f = function_at(*image, *layout, address);
  if (f == no_copy) return pc;
  const uint64_t copy = address_of(layout->copy(f));
  // The mark before a copy counts as the copy's beginning. The jump tables behind it are not code.
  if (address < copy) return image->original(f);
  const uint64_t offset = address - copy;
  return offset < image->functions()[f].size ? image->original(f) + offset : pc;
}
