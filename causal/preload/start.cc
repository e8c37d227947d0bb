// SPDX-License-Identifier: MIT
#include "causal/preload/start.h"

#include <stdlib.h>

#include "causal/preload/experiments.h"
#include "causal/preload/points.h"
#include "causal/preload/real.h"
#include "causal/preload/sampler.h"
#include "causal/preload/thread.h"
#include "runtime/base/os.h"

extern "C" int __register_atfork(void (*prepare)(), void (*parent)(), void (*child)(), void* dso);
extern "C" void* __dso_handle;

namespace stab::causal {
namespace {

uint32_t has_started;
uint32_t has_ended;
int process;

// A child inherits what the thread owes, but not the kernel's clocks and timers.
void begin_child() {
  if (load(has_left)) return;
  process = os::process_id();
  has_ended = 0;
  leave_experiments();
  add(shared_file.head->processes, 1u);
  if (!is_counted()) return;
  begin_alone();
  add(shared_file.head->threads, 1u);
  self.id = os::thread_id();
  start_sampling();
}

void join_session() {
  Head& head = *shared_file.head;
  uint64_t never = 0;
  __atomic_compare_exchange_n(&head.started_ns, &never, os::monotonic_ns(), false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
  add(head.processes, 1u);
  process = os::process_id();
  prepare_threads();
  find_sampled_points();
  prepare_sampling();
  __register_atfork(nullptr, nullptr, begin_child, &__dso_handle);
  expect_thread();
  begin_thread(load(head.owed_ns));
  begin_experiments();
}

__attribute__((constructor)) void on_load() {
  start_library();
}

__attribute__((destructor)) void on_exit() {
  end_process();
}

}  // namespace

void start_library() {
  if (__atomic_exchange_n(&has_started, 1u, __ATOMIC_ACQ_REL) != 0) return;
  find_all_real();
  const char* path = getenv("STAB_CAUSAL");
  if (path != nullptr) open_shared_file(path);
  if (shared_file.head != nullptr) join_session();
}

void end_process() {
  if (shared_file.head == nullptr || load(has_left) || os::process_id() != process ||
      __atomic_exchange_n(&has_ended, 1u, __ATOMIC_ACQ_REL) != 0)
    return;
  before_wake();
  // A sample after this would belong to no experiment.
  if (is_counted()) stop_sampling();
  end_experiments();
  __atomic_store_n(&shared_file.head->ended_ns, os::monotonic_ns(), __ATOMIC_RELAXED);
}

void leave_session() {
  if (!is_counted()) return;
  // A child of a bare clone has no coordinator that could end.
  if (os::process_id() == process) {
    stop_sampling();
    end_process();
    wait_for_coordinator();
  }
  __atomic_store_n(&has_left, true, __ATOMIC_RELAXED);
}

void leave_program() {
  if (is_counted() && self.id == os::thread_id()) stop_sampling();
}

void resume_program() {
  if (is_counted() && self.id == os::thread_id()) start_sampling();
}

}  // namespace stab::causal
