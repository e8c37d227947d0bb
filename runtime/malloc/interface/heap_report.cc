// SPDX-License-Identifier: MIT
#include "runtime/malloc/interface/heap_report.h"

#include "runtime/malloc/interface/choice.h"

namespace stab::heap {

void add_start(rt::Line& line, const rt::Options& options) {
  const bool on = is_heap_on();
  line.field("heap", on ? "on" : "off");
  if (on) line.field("allocator", rt::name_of(options.allocator));
  if (options.heap && !on) line.field("heap_why", heap_problem());
  if (heap_of_others() != nullptr) line.field("other_allocator", heap_of_others());
}

void add_counts(rt::Line& line) {
  const HeapCounts counts = heap_counts();
  if (!counts.known) return;
  line.field("heap_operations", counts.operations).field("heap_bytes", counts.bytes);
  line.field("heap_fixed_bytes", counts.unshuffled);
}

}  // namespace stab::heap
