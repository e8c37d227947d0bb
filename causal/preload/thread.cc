// SPDX-License-Identifier: MIT
#include "causal/preload/thread.h"

#include <pthread.h>

#include "causal/preload/experiments.h"
#include "causal/preload/kernel.h"
#include "causal/preload/sampler.h"
#include "runtime/base/os.h"

namespace stab::causal {

__thread Thread self __attribute__((tls_model("initial-exec")));

bool has_left;

namespace {

uint32_t living;
pthread_key_t end_key;
bool has_end_key;

void sleep_for(uint64_t ns, bool in_handler) {
  const uint64_t excess = __atomic_exchange_n(&self.excess_ns, 0, __ATOMIC_RELAXED);
  if (excess >= ns) {
    add(self.excess_ns, excess - ns);
    return;
  }
  // libc's own two signals are answered meanwhile, because their sender waits for this thread.
  constexpr uint64_t all_but_libcs = ~(uint64_t{3} << 31);
  const uint64_t mask = in_handler ? os::exchange_signal_mask(all_but_libcs) : 0;
  const uint64_t start = os::monotonic_ns();
  kernel::sleep_until(start + ns - excess);
  const uint64_t slept = os::monotonic_ns() - start;
  add(self.excess_ns, slept + excess - ns);
  add(shared_file.head->slept_ns, slept);
  if (in_handler) os::set_signal_mask(mask);
}

// No later pause can make up for the time by which this thread's pauses were too long, so all
// others pause as long. If no line is sped up, that time is forgotten; otherwise threads that
// follow each other would hand it on for ever.
void hand_excess_on() {
  const uint64_t excess = __atomic_exchange_n(&self.excess_ns, 0, __ATOMIC_RELAXED);
  if (load(shared_file.head->chosen) >> 32 == 0) return;
  add(shared_file.head->handed_on_ns, excess);
  run_ahead(excess);
  settle();
}

void raise_owed(uint64_t to) {
  uint64_t& owed = shared_file.head->owed_ns;
  uint64_t before = load(owed);
  while (before < to && !__atomic_compare_exchange_n(&owed, &before, to, true, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED)) {
  }
}

}  // namespace

void settle(bool in_handler) {
  if (is_waiting(frame_here())) return;
  uint64_t paid = load(self.paid_ns);
  const uint64_t owed = load(shared_file.head->owed_ns);
  if (paid > owed) {
    raise_owed(paid);
  } else if (paid < owed && __atomic_compare_exchange_n(&self.paid_ns, &paid, owed, false,
                                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    // Nobody can owe more than the time that has passed. If somebody does, a program wrote over
    // the file.
    const uint64_t passed = os::monotonic_ns() - load(shared_file.head->started_ns);
    sleep_for(owed - paid < passed ? owed - paid : passed, in_handler);
  }
}

void run_ahead(uint64_t ns) {
  add(self.paid_ns, ns);
}

void Wait::begin() {
  settle();
  owed_ns_ = load(shared_file.head->owed_ns);
  self.waiting_frame = frame_here();
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void Wait::finish(bool is_woken) {
  if (is_woken) add(self.paid_ns, credit());
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  self.waiting_frame = 0;
  if (!is_woken) settle();
}

// Returns the pauses that have accrued, without those that a handler of the program has paid. A
// handler on an alternate stack above this one looks like a program that has jumped out of the
// wait.
uint64_t Wait::credit() const {
  const uint64_t owed = load(shared_file.head->owed_ns);
  const uint64_t accrued = owed - owed_ns_;
  if (self.waiting_frame != 0) return accrued;
  const uint64_t paid = load(self.paid_ns);
  const uint64_t due = paid < owed ? owed - paid : 0;
  return due < accrued ? due : accrued;
}

bool prepare_threads() {
  has_end_key = pthread_key_create(&end_key, [](void*) { end_thread(); }) == 0;
  return has_end_key;
}

void begin_thread(uint64_t paid_ns) {
  if (self.state != Thread::not_begun || shared_file.head == nullptr) return;
  self.id = os::thread_id();
  self.paid_ns = paid_ns;
  if (has_end_key) pthread_setspecific(end_key, &self);
  add(shared_file.head->threads, 1u);
  self.state = Thread::runs;
  start_sampling();
}

void end_thread() {
  if (!is_counted()) return;
  settle();
  hand_excess_on();
  self.state = Thread::has_ended;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  stop_sampling();
  expect_no_thread();
}

void expect_thread() {
  __atomic_add_fetch(&living, 1, __ATOMIC_RELAXED);
}

void expect_no_thread() {
  if (__atomic_sub_fetch(&living, 1, __ATOMIC_RELAXED) == 0) end_experiments();
}

void begin_alone() {
  living = 1;
}

}  // namespace stab::causal
