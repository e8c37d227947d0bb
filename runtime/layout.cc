// SPDX-License-Identifier: MIT
#include "runtime/layout.h"

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

}  // namespace

bool allocate_arrays(Layout& layout, uint32_t functions) {
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

bool make_writable(const Layout& layout) {
  return !os::failed(os::protect(number(layout.start), layout.size(), os::read | os::write));
}

bool seal(const Layout& layout) {
  return !os::failed(os::protect(number(layout.start), layout.code_size, os::read | os::execute)) &&
         (layout.unwind_size == 0 ||
          !os::failed(os::protect(number(layout.unwind()), layout.unwind_size, os::read)));
}

}  // namespace stab::rt
