// SPDX-License-Identifier: MIT
#include "causal/preload/watch.h"

#include <link.h>

#include "causal/preload/kernel.h"
#include "causal/preload/lines.h"
#include "causal/preload/shared_file.h"
#include "runtime/base/os.h"

// Of the runtime in a program that szc built, whose functions move: their first places are left.
extern "C" __attribute__((weak)) const void* stab_original_address_1(const void* pc);

namespace stab::causal {
namespace {

constexpr uint64_t nowhere = 0;

struct Watched {
  uint64_t address;
  long descriptor;
};
Watched watched[most_places];
uint32_t watched_count;
uint64_t counted_before[most_places];  // by what this process was until an exec

Head& head() {
  return *shared_file.head;
}

int find_places(dl_phdr_info* info, size_t, void*) {
  const uint32_t object = object_named(info->dlpi_name);
  for (uint32_t i = 0; i < head().place_count; ++i)
    if (head().places[i].object == object)
      watched[i].address = info->dlpi_addr + head().places[i].address;
  return 0;
}

Unwatched watch_all() {
  if (stab_original_address_1 != nullptr) return functions_move;
  dl_iterate_phdr(find_places, nullptr);
  for (uint32_t i = 0; i < head().place_count; ++i)
    if (watched[i].address == nowhere) return not_loaded_yet;
  if (!kernel::leave_descriptors()) return not_permitted;
  for (uint32_t i = 0; i < head().place_count; ++i) {
    watched[i].descriptor = kernel::watch(watched[i].address, os::process_id());
    if (os::failed(watched[i].descriptor)) return not_permitted;
    counted_before[i] = load(shared_file.counters[head().places[i].counter].count);
  }
  return none_unwatched;
}

}  // namespace

void watch_nothing() {
  for (uint32_t i = 0; i < head().place_count; ++i)
    __atomic_store_n(&shared_file.counters[head().places[i].counter].kind, uint32_t{sampled},
                     __ATOMIC_RELEASE);
}

void begin_watching() {
  if (head().place_count == 0) return;
  const Unwatched why = watch_all();
  __atomic_store_n(&head().unwatched, uint32_t{why}, __ATOMIC_RELAXED);
  if (why == none_unwatched)
    watched_count = head().place_count;
  else
    watch_nothing();
}

void read_watched() {
  uint64_t counts[most_places] = {};
  for (uint32_t i = 0; i < watched_count; ++i)
    if (!kernel::read_watch(watched[i].descriptor, counts[i])) return;
  for (uint32_t i = 0; i < watched_count; ++i) {
    uint64_t all = 0;
    for (uint32_t j = 0; j < watched_count; ++j)
      if (head().places[j].counter == head().places[i].counter) all += counts[j];
    __atomic_store_n(&shared_file.counters[head().places[i].counter].count, counted_before[i] + all,
                     __ATOMIC_RELAXED);
  }
}

}  // namespace stab::causal
