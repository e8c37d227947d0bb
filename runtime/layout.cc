// SPDX-License-Identifier: MIT
#include "runtime/layout.h"

#include "runtime/check.h"
#include "runtime/memory.h"
#include "runtime/os.h"

namespace stab::rt {
namespace {

uint64_t arrays_size(uint32_t functions) {
  return align_up(uint64_t{functions} * (3 * sizeof(uint32_t) + sizeof(uint16_t)), os::page_size);
}

uint64_t number(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

bool is_whole_pages(const Layout& layout) {
  return (number(layout.start) | layout.code_size | layout.unwind_size) % os::page_size == 0;
}

}  // namespace

bool allocate_arrays(Layout& layout, uint32_t functions) {
  STAB_ALWAYS(Layout, 2, layout.offsets == nullptr && layout.count == 0);
  const long got = os::map(0, arrays_size(functions), os::read | os::write);
  if (os::failed(got)) return false;
  layout.offsets = reinterpret_cast<uint32_t*>(got);
  layout.order = layout.offsets + functions;
  layout.descriptions = layout.order + functions;
  layout.pads = reinterpret_cast<uint16_t*>(layout.descriptions + functions);
  fill_bytes(layout.offsets, 0xff, uint64_t{functions} * 4);
  return true;
}

void release(Layout& layout, uint32_t functions) {
  if (layout.start != nullptr) os::unmap(number(layout.start), layout.size());
  if (layout.offsets != nullptr) os::unmap(number(layout.offsets), arrays_size(functions));
  layout = {};
}

bool is_valid(const Layout& layout, uint32_t functions) {
  if (!is_whole_pages(layout) || layout.count > functions) return false;
  uint32_t placed = 0;
  for (uint32_t f = 0; f < functions; ++f) placed += layout.has(f) ? 1 : 0;
  if (placed != layout.count) return false;
  for (uint32_t rank = 0; rank < layout.count; ++rank) {
    const uint32_t f = layout.order[rank];
    if (f >= functions || !layout.has(f) || layout.offsets[f] >= layout.code_size) return false;
    if (rank > 0 && layout.offsets[f] <= layout.offsets[layout.order[rank - 1]]) return false;
  }
  return true;
}

bool make_writable(const Layout& layout) {
  STAB_ALWAYS(Image, 3, layout.state == LayoutState::unused);
  return !os::failed(os::protect(number(layout.start), layout.size(), os::read | os::write));
}

bool seal(const Layout& layout) {
  STAB_ALWAYS(Layout, 1, is_whole_pages(layout));
  return !os::failed(os::protect(number(layout.start), layout.code_size, os::read | os::execute)) &&
         (layout.unwind_size == 0 ||
          !os::failed(os::protect(number(layout.unwind()), layout.unwind_size, os::read)));
}

}  // namespace stab::rt
