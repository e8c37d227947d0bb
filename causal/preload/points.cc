// SPDX-License-Identifier: MIT
#include "causal/preload/points.h"

#include <stddef.h>

#include "causal/preload/real.h"
#include "causal/preload/start.h"
#include "causal/preload/thread.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"

namespace stab::causal {
namespace {

bool has_sampled_points;

// Keeps the end of a name that is too long, because a line's number is there.
const char* kept_part(const char* name) {
  const size_t length = rt::length_of(name);
  return length < counter_name_bytes ? name : name + (length - counter_name_bytes + 1);
}

bool is_named(const Counter& counter, const char* name) {
  const size_t length = rt::length_of(name);
  return rt::equal(counter.name, name, length + 1);
}

// A process that claims a counter writes its name at once. Only a process that is killed in
// between never does.
uint32_t kind_of(Counter& counter) {
  uint32_t kind = __atomic_load_n(&counter.kind, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; kind == claimed && i < 1000; ++i) {
    os::yield();
    kind = __atomic_load_n(&counter.kind, __ATOMIC_ACQUIRE);
  }
  return kind;
}

bool claim(Counter& counter, uint32_t kind, const char* name) {
  uint32_t nobody = 0;
  if (!__atomic_compare_exchange_n(&counter.kind, &nobody, claimed, false, __ATOMIC_ACQUIRE,
                                   __ATOMIC_RELAXED))
    return false;
  rt::copy_bytes(counter.name, name, rt::length_of(name) + 1);
  counter.line = no_line;
  __atomic_store_n(&counter.kind, kind, __ATOMIC_RELEASE);
  return true;
}

// Returns the time that has passed for this thread, without the pauses that it has made or need
// not make.
uint64_t own_ns() {
  const uint64_t paused = is_counted() ? load(self.paid_ns) : load(shared_file.head->owed_ns);
  return os::monotonic_ns() - paused;
}

void count_up_to(uint32_t count) {
  uint32_t& there = shared_file.head->counter_count;
  uint32_t before = load(there);
  while (before < count && !__atomic_compare_exchange_n(&there, &before, count, true,
                                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

// Finds the counter of this kind and name, which is the same in all processes. Returns null if
// nobody profiles, or if there are too many counters.
Counter* find_counter(uint32_t kind, const char* name) {
  start_library();
  if (shared_file.head == nullptr || name == nullptr) return nullptr;
  const char* part = kept_part(name);
  for (uint32_t i = 0; i < most_counters; ++i) {
    Counter& counter = shared_file.counters[i];
    uint32_t there = kind_of(counter);
    if (there == 0 && !claim(counter, kind, part)) there = kind_of(counter);
    if (there != 0 && (there != kind || !is_named(counter, part))) continue;
    count_up_to(i + 1);
    return &counter;
  }
  return nullptr;
}

// Records how long this thread took since its last arrival.
void note_arrival() {
  Head& head = *shared_file.head;
  const uint64_t now = own_ns();
  const uint64_t before = self.arrived_at;
  self.arrived_at = now;
  if (before == 0) return;
  if (self.arrival_place == 0)
    self.arrival_place = (add(head.arrival_threads, 1u) - 1) % most_arrival_threads + 1;
  Arrivals& arrivals = head.arrivals[self.arrival_place - 1];
  add(arrivals.ns, now - before);
  add(arrivals.gaps, uint64_t{1});
}

// Keeps invariant 5 of session.h.
void note_time(Counter& counter) {
  add(counter.begun, uint64_t{1});
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  add(counter.ns, own_ns());
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void visit(Counter& counter) {
  if (counter.kind == begin || counter.kind == end) note_time(counter);
  add(counter.count, uint64_t{1});
  if (counter.kind != arrival || !is_counted()) return;
  note_arrival();
  const uint64_t ahead = shared_file.head->arrival_ns;
  if (ahead == 0 || shared_file.head->is_without_pauses != 0) return;
  run_ahead(ahead);
  settle();
}

}  // namespace

void find_sampled_points() {
  for (uint32_t i = 0; i < most_counters; ++i)
    if (load(shared_file.counters[i].kind) == sampled) has_sampled_points = true;
}

void visit_sampled_points(uint32_t line) {
  if (!has_sampled_points) return;
  for (uint32_t i = 0; i < most_counters; ++i) {
    Counter& counter = shared_file.counters[i];
    if (load(counter.kind) == sampled && counter.line == line) add(counter.count, uint64_t{1});
  }
}

}  // namespace stab::causal

using namespace stab::causal;

// For coz.h. Returns the address of a count, which its macros add to.
STAB_EXPORT uint64_t* _coz_get_counter(int type, const char* name) {
  if (type < static_cast<int>(throughput) || type > static_cast<int>(end)) return nullptr;
  Counter* counter = find_counter(static_cast<uint32_t>(type), name);
  return counter == nullptr ? nullptr : &counter->count;
}

STAB_EXPORT void _coz_add_delays() {
  before_wake();
}

// The program calls these two around a wait that the library does not see.
STAB_EXPORT void _coz_pre_block() {
  if (!is_counted()) return;
  settle();
  self.owed_before_ns = load(shared_file.head->owed_ns);
}

STAB_EXPORT void _coz_post_block(int skip_delays) {
  if (!is_counted()) return;
  const uint64_t owed = load(shared_file.head->owed_ns);
  const uint64_t accrued = owed - self.owed_before_ns;
  // If a sample has paid a part in the meantime, that part is not credited again.
  const uint64_t due = owed > load(self.paid_ns) ? owed - load(self.paid_ns) : 0;
  if (skip_delays != 0) run_ahead(accrued < due ? accrued : due);
  settle();
}

// For stabilizer.h. `point` keeps the counter that was found, for each place in the program.
STAB_EXPORT void stab_visit(int kind, const char* name, void** point) {
  if (kind < static_cast<int>(throughput) || kind > static_cast<int>(arrival)) return;
  void* counter = __atomic_load_n(point, __ATOMIC_RELAXED);
  if (counter == nullptr) {
    counter = find_counter(static_cast<uint32_t>(kind), name);
    if (counter == nullptr) return;
    __atomic_store_n(point, counter, __ATOMIC_RELAXED);
  }
  visit(*static_cast<Counter*>(counter));
}
