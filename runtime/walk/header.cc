// SPDX-License-Identifier: MIT
#include "runtime/walk/header.h"

#include "runtime/base/memory.h"

namespace stab::rt {
namespace {

constexpr uint64_t header_size = 12;
constexpr uint64_t entry_size = 8;

bool holds(const Extent& image, uint64_t at, uint64_t size) {
  return at >= image.start && at <= image.end && image.end - at >= size;
}

int64_t signed32(const uint8_t* at) {
  return static_cast<int32_t>(load32(at));
}

// The entry of the last function that starts at or before pc, or null. Entries are pairs of
// distances from the header: function, description.
const uint8_t* find_entry(uint64_t pc, const uint8_t* header) {
  const uint32_t count = load32(header + 8);
  const uint8_t* entries = header + header_size;
  const auto distance = static_cast<int64_t>(pc - address_of(header));
  uint32_t low = 0;
  uint32_t high = count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (signed32(entries + middle * entry_size) <= distance)
      low = middle + 1;
    else
      high = middle;
  }
  return low == 0 ? nullptr : entries + (low - 1) * entry_size;
}

// The entry of .eh_frame at an address, with its length. 0: none.
uint64_t entry_bytes(const Extent& image, uint64_t at) {
  if (!holds(image, at, 8)) return 0;
  const uint64_t size = uint64_t{load32(reinterpret_cast<const uint8_t*>(at))} + 4;
  return size >= 12 && holds(image, at, size) ? size : 0;
}

bool describe_entry(const Extent& image, uint64_t fde, uint64_t start, FrameDescription& result) {
  constexpr uint64_t fields = 16;  // length, CIE, start and size, as the table's kind implies
  result.fde = reinterpret_cast<const uint8_t*>(fde);
  result.fde_size = entry_bytes(image, fde);
  if (result.fde_size < fields) return false;
  const uint64_t cie = fde + 4 - load32(result.fde + 4);
  result.cie = reinterpret_cast<const uint8_t*>(cie);
  result.cie_size = entry_bytes(image, cie);
  result.function_start = start;
  result.function_size = load32(result.fde + 12);
  const uint64_t own_start = fde + 8 + static_cast<uint64_t>(signed32(result.fde + 8));
  return result.cie_size != 0 && own_start == start;
}

}  // namespace

bool find_in_image_header(uint64_t pc, const uint8_t* eh_frame_hdr, const Extent& image,
                          FrameDescription& description) {
  if (!holds(image, address_of(eh_frame_hdr), header_size)) return false;
  // Version 1; .eh_frame pc-relative, a count, pairs relative to the header, all of 32 bits.
  const bool usual = eh_frame_hdr[0] == 1 && eh_frame_hdr[1] == 0x1b && eh_frame_hdr[2] == 0x03 &&
                     eh_frame_hdr[3] == 0x3b;
  const uint64_t table = uint64_t{load32(eh_frame_hdr + 8)} * entry_size;
  if (!usual || !holds(image, address_of(eh_frame_hdr), header_size + table)) return false;
  const uint8_t* entry = find_entry(pc, eh_frame_hdr);
  if (entry == nullptr) return false;
  const uint64_t start = address_of(eh_frame_hdr) + static_cast<uint64_t>(signed32(entry));
  const uint64_t fde = address_of(eh_frame_hdr) + static_cast<uint64_t>(signed32(entry + 4));
  return describe_entry(image, fde, start, description) &&
         pc - description.function_start < description.function_size;
}

}  // namespace stab::rt
