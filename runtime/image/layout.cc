// SPDX-License-Identifier: MIT
#include "runtime/image/layout.h"

#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/image/place.h"

namespace stab::rt {
namespace {

uint64_t bytes_of_all;

uint64_t arrays_size(uint32_t functions) {
  return align_up(uint64_t{functions} * (3 * sizeof(uint32_t) + sizeof(uint16_t)), os::page_size);
}

bool is_whole_pages(const Layout& layout) {
  return (address_of(layout.start) | layout.code_size | layout.unwind_size) % os::page_size == 0;
}

}  // namespace

void LayoutLife::begin() {
  STAB_ALWAYS(Image, 3, state_ == LayoutState::absent);
  state_ = LayoutState::unused;
}

void LayoutLife::stay() {
  STAB_ALWAYS(Image, 3, state_ == LayoutState::absent);
  state_ = LayoutState::permanent;
}

void LayoutLife::retire() {
  STAB_ALWAYS(Image, 3, state_ == LayoutState::current || state_ == LayoutState::permanent);
  if (state_ == LayoutState::current) state_ = LayoutState::old;
}

void LayoutLife::forget(const Layout& own, const Unreferred& proof) {
  STAB_ALWAYS(Epochs, 3, proof.is_of(own) && state_ == LayoutState::old && !own.referred);
  state_ = LayoutState::unused;
}

Entry::Entry(Layout& layout, uint64_t epoch) : layout_(layout) {
  STAB_ALWAYS(Image, 3, layout.state() == LayoutState::unused);
  layout.born = epoch;
  layout.life.state_ = LayoutState::current;
}

Entry::~Entry() {
  if (!completed_) layout_.life.state_ = LayoutState::unused;
}

void forget(Layout& layout, Unreferred proof) {
  layout.life.forget(layout, proof);
}

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

void release(Layout& layout, uint32_t functions, const ImageIsGone& /*proof*/) {
  STAB_ALWAYS(Layout, 1, is_whole_pages(layout));
  if (layout.start != nullptr) os::unmap(address_of(layout.start), layout.size());
  if (layout.offsets != nullptr) os::unmap(address_of(layout.offsets), arrays_size(functions));
  __atomic_fetch_sub(&bytes_of_all, layout.counted, __ATOMIC_RELAXED);
  layout = {};
}

void count_bytes(Layout& layout) {
  const uint64_t before = layout.counted;
  layout.counted = layout.size();
  __atomic_fetch_add(&bytes_of_all, layout.counted - before, __ATOMIC_RELAXED);
}

uint64_t layout_bytes() {
  return __atomic_load_n(&bytes_of_all, __ATOMIC_RELAXED);
}

uint32_t layouts_that_fit(uint32_t has, uint64_t size) {
  const uint64_t bytes = layout_bytes();
  const uint64_t left = bytes < most_layout_bytes ? most_layout_bytes - bytes : 0;
  const uint64_t fit = size == 0 ? most_layouts : has + left / size;
  if (fit < least_layouts) return least_layouts;
  return fit < most_layouts ? static_cast<uint32_t>(fit) : most_layouts;
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

bool make_writable(Layout& layout) {
  STAB_ALWAYS(Image, 3, layout.state() == LayoutState::unused);
  return !os::failed(os::protect(address_of(layout.start), layout.size(), os::read | os::write));
}

const char* seal(Layout& layout) {
  STAB_ALWAYS(Layout, 1, is_whole_pages(layout));
  if (os::failed(os::protect(address_of(layout.start), layout.code_size, os::read | os::execute)) ||
      (layout.unwind_size != 0 &&
       os::failed(os::protect(address_of(layout.unwind()), layout.unwind_size, os::read))))
    return "memory cannot be made executable (mprotect was refused)";
  return nullptr;
}

constinit const char* const place_refused = "code cannot be put in place (mremap was refused)";

}  // namespace stab::rt
