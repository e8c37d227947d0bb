// SPDX-License-Identifier: MIT
#include "runtime/image/placement.h"

#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/image/pads.h"
#include "runtime/image/unwind.h"

namespace stab::rt {
namespace {

constexpr uint64_t largest_code = uint64_t{1} << 29;

// In the order of the originals, and at the same place of a page.
uint64_t place_as_linked(const Image& image, Placement& placement) {
  constexpr uint64_t page_units = os::page_size / unit;
  uint64_t at = 0;
  for (uint32_t rank = 0; rank < placement.count; ++rank) {
    const uint64_t linked = address_of(image.original(placement.functions[rank])) / unit;
    at += (linked - at) % page_units;
    placement.order[rank] = rank;
    placement.positions[rank] = static_cast<uint32_t>(at);
    at += placement.sizes[rank];
  }
  return at;
}

// Units of memory that any placement of these functions fits in.
uint64_t span_of(const Image& image, Placement& placement) {
  return image.moves ? span_for(placement.total) : place_as_linked(image, placement);
}

uint64_t largest(const Image& image) {
  uint64_t most = 0;
  for (uint32_t f = 0; f < image.count(); ++f) {
    const uint64_t size = copy_size(image.functions()[f]);
    most = size > most ? size : most;
  }
  return most + mark_bytes;
}

}  // namespace

void choose_functions(Image& image, Placement& placement) {
  for (uint32_t f = 0; f < image.count(); ++f) {
    const abi::Function& function = image.functions()[f];
    const uint8_t* code = image.original(f);
    if (abi::hash_code(code, function.size) != function.hash) {
      ++image.altered;
      continue;
    }
    copy_bytes(image.saved + uint64_t{f} * saved_bytes, code,
               function.size < saved_bytes ? function.size : saved_bytes);
    placement.add(f, copy_size(function) + (image.marks_calls() ? mark_bytes : 0));
    image.moved_bytes += function.size;
  }
}

void choose_all(const Image& image, Placement& placement) {
  for (uint32_t f = 0; f < image.count(); ++f)
    if (image.may_move_again(f)) placement.add(f, copy_size(image.functions()[f]));
}

void choose_called(const Image& image, Placement& placement) {
  for (uint32_t f = 0; f < image.count(); ++f)
    if (image.may_move_again(f) && image.was_called(f))
      placement.add(f, copy_size(image.functions()[f]));
}

const char* reserve(Image& image, Layout& layout, Placement& placement) {
  if (layout.offsets == nullptr && !allocate_arrays(layout, image.count())) return "no memory";
  const uint64_t span = span_of(image, placement) * unit;
  if (span > largest_code) return "the code is too large";
  layout.code_size = align_up(span + largest(image), os::page_size);
  layout.unwind_size = align_up(unwind_bytes(image), os::page_size);
  const auto low = address_of(image.base);
  layout.start =
      reserve_near(layout.size(), low, low + image.table->image_size, image.random, image.side);
  if (layout.start == nullptr) return "no memory near the image";
  count_bytes(layout);
  // Where most pages will hold a function anyway.
  if (2 * uint64_t{image.count()} > layout.code_size / os::page_size)
    os::populate(address_of(layout.start), layout.code_size);
  image.lowest = address_of(layout.start) < image.lowest ? address_of(layout.start) : image.lowest;
  const uint64_t end = address_of(layout.start) + layout.code_size;
  image.highest = end > image.highest ? end : image.highest;
  return nullptr;
}

void choose_places(Image& image, Placement& placement) {
  if (image.moves)
    place(placement.sizes, placement.count, span_for(placement.total), image.random,
          placement.order, placement.positions, placement.scratch);
  else
    place_as_linked(image, placement);
}

void adopt_places(const Image& image, Layout& layout, const Placement& placement) {
  const uint32_t lead = image.lead(layout);  // bytes of each place before the copy
  STAB_ALWAYS(Layout, 2,
              placement.count == 0 || (uint64_t{placement.positions[placement.count - 1]} +
                                       placement.sizes[placement.order[placement.count - 1]]) *
                                              unit <=
                                          layout.code_size);
  for (uint32_t i = 0; i < layout.count; ++i) layout.offsets[layout.order[i]] = no_copy;
  layout.count = 0;
  const auto add = [&](uint32_t f, uint64_t offset) {
    layout.order[layout.count++] = f;
    layout.offsets[f] = static_cast<uint32_t>(offset);
  };
  for (uint32_t rank = 0; rank < placement.count; ++rank)
    add(placement.functions[placement.order[rank]],
        uint64_t{placement.positions[rank]} * unit + lead);
}

}  // namespace stab::rt
