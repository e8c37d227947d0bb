// SPDX-License-Identifier: MIT
#include "runtime/malloc/interface/choice.h"

#include "runtime/base/check.h"
#include "runtime/base/options.h"
#include "runtime/base/os.h"
#include "runtime/malloc/allocators/bitmap.h"
#include "runtime/malloc/allocators/layer.h"
#include "runtime/malloc/allocators/system.h"
#include "runtime/malloc/interface/names.h"
#include "runtime/malloc/interface/open.h"
#include "runtime/malloc/memory/cache.h"
#include "runtime/malloc/memory/large.h"

namespace stab::heap {
namespace {

const Allocator* choice;
int decider;  // the thread that chooses, or has chosen; 0: nobody yet
const char* problem;
const char* others;

const Allocator& decide() {
  rt::Line complaints;  // unread: the start of the runtime reports the same complaints
  const rt::Options options = heap_options(complaints);
  find_system_heap();
  if (!options.heap) return plain;
  if (!is_own_malloc()) {
    problem = "the program has its own malloc";
    return plain;
  }
  others = file_of_other_heap();
  if (others != nullptr && options.allocator != rt::Base::layer) {
    problem =
        "an allocator other than libc's is linked or preloaded (allocator=layer works with it)";
    return plain;
  }
  rt::Random mix(rt::run_seed(options) ^ 0x68656170);
  return open_allocator(options, mix.next());
}

}  // namespace

rt::Options heap_options(rt::Line& complaints) {
  rt::Options options = rt::parse_options(rt::options_text(rt::initial_environment()), complaints);
  if (!options.heap_given) options.heap = heap_by_default;
  return options;
}

const Allocator& chosen() {
  const Allocator* made = __atomic_load_n(&choice, __ATOMIC_ACQUIRE);
  if (made != nullptr) return *made;
  const int own = os::thread_id();
  int first = 0;
  if (!__atomic_compare_exchange_n(&decider, &first, own, false, __ATOMIC_RELAXED,
                                   __ATOMIC_RELAXED)) {
    STAB_ALWAYS(Choice, 1, first == own);
    return plain;
  }
  made = &decide();
  __atomic_store_n(&choice, made, __ATOMIC_RELEASE);
  return *made;
}

bool is_chosen() {
  return __atomic_load_n(&choice, __ATOMIC_ACQUIRE) != nullptr;
}

HeapCounts heap_counts() {
  if (choice == nullptr || choice == &plain) return {};
  if (choice == &layer) {
    const CacheCounts all = layer_counts();
    return {true, all.taken + all.given, all.bytes, all.in_order};
  }
  const LargeCounts large = large_counts();
  HeapCounts counts = {true, large.taken + large.given, large.bytes, large.bytes};
  const CacheCounts small = choice == &bitmap ? bitmap_counts() : cache_counts();
  counts.operations += small.taken + small.given;
  counts.bytes += small.bytes;
  counts.unshuffled += small.in_order;
  return counts;
}

bool is_heap_on() {
  return &chosen() != &plain;
}

const char* heap_problem() {
  return problem;
}

const char* heap_of_others() {
  return others;
}

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
