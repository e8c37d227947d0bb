// SPDX-License-Identifier: MIT
#include "runtime/malloc/memory/span.h"

#include "runtime/base/check.h"
#include "runtime/base/os.h"

namespace stab::heap {

Span** directory[leaves];

constinit Span no_span = [] {
  Span span{};
  span.bag = no_bag;
  return span;
}();

bool prepare_directory(uint64_t start, uint64_t size) {
  for (uint64_t leaf = start >> leaf_bits; leaf <= (start + size - 1) >> leaf_bits; ++leaf) {
    if (leaf >= leaves) return false;
    if (directory[leaf] != nullptr) continue;
    const long got = os::map(0, leaf_entries * sizeof(Span*), os::read | os::write);
    if (os::failed(got)) return false;
    __atomic_store_n(&directory[leaf], reinterpret_cast<Span**>(got), __ATOMIC_RELEASE);
  }
  return true;
}

void lead_to(uint64_t address, Span* span) {
  STAB_DEBUG(Spans, 1, address >> leaf_bits < leaves && directory[address >> leaf_bits] != nullptr);
  Span** leaf = directory[address >> leaf_bits];
  __atomic_store_n(&leaf[(address >> unit_bits) & (leaf_entries - 1)], span, __ATOMIC_RELEASE);
}

void lead_to_ends(Span* span) {
  STAB_DEBUG(Spans, 1, span->units != 0 && span->start % unit_size == 0);
  lead_to(span->start, span);
  lead_to(span->end() - 1, span);
}

void lead_to_all(Span* span) {
  for (uint64_t at = span->start; at < span->end(); at += unit_size) lead_to(at, span);
}

void lead_nowhere(const Span* span) {
  if (span->purpose == Purpose::large) return lead_to(span->block, &no_span);
  for (uint64_t at = span->start; at < span->end(); at += unit_size) lead_to(at, &no_span);
}

}  // namespace stab::heap
