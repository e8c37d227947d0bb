// SPDX-License-Identifier: MIT
#include "causal/preload/experiments.h"

#include <pthread.h>
#include <signal.h>

#include "causal/preload/kernel.h"
#include "causal/preload/real.h"
#include "causal/preload/shared_file.h"
#include "runtime/base/os.h"
#include "runtime/base/random.h"

namespace stab::causal {
namespace {

constexpr uint32_t steps = 20;  // steps of the speedup, up to the whole line
constexpr uint32_t permille_of_step = 50;
constexpr uint64_t longest_times = 64;
constexpr uint64_t longest_ns = uint64_t{30} * 1000 * 1000 * 1000;

bool is_coordinator;
uint32_t is_over;  // 1: the program ends, and the thread that waits is woken
pthread_t coordinating;
bool has_thread;
uint32_t storing;  // 1: the thread, or the end of the program, writes an experiment down

// The values of a counter at one moment.
struct Reading {
  uint64_t visits;
  uint64_t ns;
  bool has_ns;
};

struct Running {
  uint32_t line;
  uint32_t speedup;
  uint64_t start_ns;
  uint64_t owed_ns;
  uint64_t line_samples;
  uint64_t line_ns;
  uint64_t samples;
  uint32_t counters;
  Reading before[most_counters];
};
Running running;

Head& head() {
  return *shared_file.head;
}

uint32_t counters_there() {
  const uint32_t count = load(head().counter_count);
  return count < most_counters ? count : most_counters;
}

uint64_t visits_of(uint32_t counter) {
  return load(shared_file.counters[counter].count);
}

// The times belong to these visits only while no visit is going on (session.h, invariant 5).
Reading reading_of(uint32_t counter) {
  const Counter& of = shared_file.counters[counter];
  Reading made = {visits_of(counter), 0, false};
  if (load(of.kind) != CounterKind::begin && load(of.kind) != end) return made;
  for (uint32_t i = 0; i < 100 && !made.has_ns; ++i) {
    made.visits = __atomic_load_n(&of.count, __ATOMIC_ACQUIRE);
    made.ns = __atomic_load_n(&of.ns, __ATOMIC_ACQUIRE);
    const uint64_t begun = load(of.begun);
    // coz.h made these visits, and it records no times.
    if (begun < made.visits) return made;
    made.has_ns = begun == made.visits;
    if (!made.has_ns) os::yield();
  }
  return made;
}

constexpr uint64_t look_ns = 1000000;  // between two looks during a wait

// Returns false if the program ends.
bool wait_for_look(uint64_t ns) {
  kernel::wait_until(os::monotonic_ns() + ns, is_over);
  return load(is_over) == 0;
}

// Returns the line of the first sample in scope from now on, or no_line if the program ends.
uint32_t next_line() {
  if (head().fixed_line != no_line) return head().fixed_line;
  __atomic_store_n(&head().asked, line_asked, __ATOMIC_RELAXED);
  uint64_t answer = line_asked;
  while ((answer = load(head().asked)) < first_answer)
    if (!wait_for_look(look_ns)) return no_line;
  return static_cast<uint32_t>(answer - first_answer);
}

uint32_t next_speedup(rt::Random& random) {
  const bool is_baseline = random.below(2) == 0;
  const auto step = static_cast<uint32_t>(random.below(steps)) + 1;
  if (head().fixed_speedup >= 0) return static_cast<uint32_t>(head().fixed_speedup);
  return is_baseline ? 0 : step * permille_of_step;
}

void begin(uint32_t line, uint32_t speedup) {
  running.line = line;
  running.speedup = speedup;
  running.counters = counters_there();
  for (uint32_t i = 0; i < running.counters; ++i) running.before[i] = reading_of(i);
  running.samples = load(head().samples);
  running.line_samples = load(shared_file.line_counts[line].samples);
  running.line_ns = load(head().line_ns);
  running.owed_ns = load(head().owed_ns);
  running.start_ns = os::monotonic_ns();
  __atomic_store_n(&head().chosen, line | uint64_t{speedup} << 32, __ATOMIC_RELAXED);
}

uint64_t paused() {
  return load(head().owed_ns) - running.owed_ns;
}

// Returns the time since the experiment's start, as if the line were faster.
uint64_t effective_ns() {
  const uint64_t real = os::monotonic_ns() - running.start_ns;
  return real > paused() ? real - paused() : 0;
}

void wait_for_end(uint64_t length_ns) {
  constexpr uint64_t most_times = 8;
  const uint64_t latest = running.start_ns + most_times * length_ns;
  while (load(is_over) == 0) {
    const uint64_t passed = effective_ns();
    const uint64_t now = os::monotonic_ns();
    if (passed >= length_ns || now >= latest) return;
    const uint64_t end = now + length_ns - passed;
    kernel::wait_until(end < latest ? end : latest, is_over);
  }
}

// Reads all differences since the experiment's start before it stores any visits, so that they
// belong to one moment.
void take(Experiment& experiment) {
  experiment.duration_ns = os::monotonic_ns() - running.start_ns;
  experiment.paused_ns = paused();
  experiment.line_ns = load(head().line_ns) - running.line_ns;
  experiment.line_samples =
      load(shared_file.line_counts[running.line].samples) - running.line_samples;
  experiment.samples = load(head().samples) - running.samples;
  experiment.start_ns = running.start_ns;
  experiment.owed_ns = running.owed_ns;
  experiment.line = running.line;
  experiment.speedup = running.speedup;
}

uint64_t store_visits(Experiment& experiment) {
  experiment.first_visits = head().visits;
  experiment.visits_count = running.counters;
  uint64_t most = 0;
  for (uint32_t i = 0; i < running.counters; ++i) {
    const Reading before = running.before[i];
    const Reading after = reading_of(i);
    // There are no times before the first visit.
    const bool has_ns = after.has_ns && (before.has_ns || before.visits == 0);
    shared_file.visits[head().visits + i] = {
        i, has_ns ? 1u : 0u, before.visits, after.visits, before.ns, after.ns};
    if (after.visits - before.visits > most) most = after.visits - before.visits;
  }
  return most;
}

// Returns the number of visits of the most visited progress point.
uint64_t most_visits() {
  uint64_t most = 0;
  for (uint32_t i = 0; i < running.counters; ++i) {
    const uint64_t visits = visits_of(i) - running.before[i].visits;
    if (visits > most) most = visits;
  }
  return most;
}

// Ends the running experiment and writes it down. Returns the visits of the most visited point.
uint64_t store() {
  Experiment experiment = {};
  take(experiment);
  __atomic_store_n(&head().chosen, uint64_t{no_line}, __ATOMIC_RELAXED);
  const uint32_t number = head().experiments;
  const uint32_t visits = head().visits;
  if (number >= shared_file.experiment_capacity || visits > shared_file.visit_capacity ||
      shared_file.visit_capacity - visits < running.counters) {
    add(head().lost_experiments, 1u);
    return most_visits();
  }
  const uint64_t most = store_visits(experiment);
  shared_file.experiments[number] = experiment;
  __atomic_store_n(&head().visits, visits + running.counters, __ATOMIC_RELAXED);
  __atomic_store_n(&head().experiments, number + 1, __ATOMIC_RELEASE);
  return most;
}

bool may_store() {
  uint32_t nobody = 0;
  return __atomic_compare_exchange_n(&storing, &nobody, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED);
}

bool is_without_experiments() {
  return head().is_without_pauses != 0 || shared_file.line_count == 0;
}

// Whether half of the remaining room for experiments or their visits has been used again, so that
// the experiments of a program that runs for hours have to be longer. `halves` counts how often
// that was so.
bool is_half_of_room_gone(uint32_t& halves) {
  if (halves == 31) return false;
  const auto is_gone = [&](uint64_t used, uint64_t capacity) {
    return used >= capacity - (capacity >> (halves + 1));
  };
  if (!is_gone(head().experiments, shared_file.experiment_capacity) &&
      !is_gone(head().visits, shared_file.visit_capacity))
    return false;
  ++halves;
  return true;
}

void run_one(rt::Random& random, uint64_t& length_ns, uint32_t& half_rooms) {
  const uint32_t line = next_line();
  if (line == no_line) return;
  begin(line, next_speedup(random));
  wait_for_end(length_ns);
  // The end of the program takes the store for good.
  if (load(is_over) != 0 || !may_store()) return;
  const bool is_short = store() < head().least_visits;
  const bool fills_up = is_half_of_room_gone(half_rooms);
  __atomic_store_n(&storing, 0u, __ATOMIC_RELEASE);
  const uint64_t most = longest_times * head().experiment_ns;
  if ((is_short || fills_up) && length_ns < (most > longest_ns ? most : longest_ns)) length_ns *= 2;
  kernel::wait_until(os::monotonic_ns() + head().cooldown_ns, is_over);
}

void* coordinate(void*) {
  rt::Random random(head().seed + load(head().experiments));
  uint64_t length_ns = head().experiment_ns;
  uint32_t half_rooms = 0;
  // Without a progress point, experiments show nothing.
  constexpr uint64_t most_ns = 16 * look_ns;
  for (uint64_t ns = look_ns; counters_there() == 0; ns = ns < most_ns ? 2 * ns : ns)
    if (!wait_for_look(ns)) return nullptr;
  while (load(is_over) == 0) run_one(random, length_ns, half_rooms);
  return nullptr;
}

// All that the program does belongs to this one experiment, though its line is chosen a moment
// later.
void begin_for_all() {
  rt::Random random(head().seed);
  const uint32_t line = next_line();
  if (line == no_line || !may_store()) return;
  const uint32_t speedup = next_speedup(random);
  running = {};
  running.line = line;
  running.speedup = speedup;
  running.start_ns = load(head().started_ns);
  __atomic_store_n(&head().chosen, line | uint64_t{speedup} << 32, __ATOMIC_RELAXED);
  __atomic_store_n(&storing, 0u, __ATOMIC_RELEASE);
}

void* choose_for_all(void*) {
  begin_for_all();
  return nullptr;
}

// The thread blocks all signals, so it gets none of the program's.
void start_coordinating() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  STAB_REAL(pthread_sigmask)(SIG_SETMASK, &all, &before);
  has_thread = STAB_REAL(pthread_create)(&coordinating, nullptr,
                                         head().is_end_to_end != 0 ? choose_for_all : coordinate,
                                         nullptr) == 0;
  STAB_REAL(pthread_sigmask)(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void begin_experiments() {
  const auto me = static_cast<uint32_t>(os::process_id());
  uint32_t nobody = 0;
  // A process that has become another program remains the coordinator.
  is_coordinator = __atomic_compare_exchange_n(&head().coordinator, &nobody, me, false,
                                               __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
                   nobody == me;
  if (!is_coordinator) return;
  __atomic_store_n(&head().chosen, uint64_t{no_line}, __ATOMIC_RELAXED);
  __atomic_store_n(&head().asked, nothing_asked, __ATOMIC_RELAXED);
  running.start_ns = 0;
  if (is_without_experiments()) return;
  if (head().is_end_to_end != 0 && head().fixed_line != no_line) {
    begin_for_all();
  } else {
    start_coordinating();
  }
}

void end_experiments() {
  if (!is_coordinator || load(is_over) != 0) return;
  __atomic_store_n(&is_over, 1u, __ATOMIC_RELAXED);
  kernel::wake(is_over);
  // If the thread is storing an experiment just now, it needs only a moment.
  for (uint32_t i = 0; !may_store() && i < 1000; ++i) os::yield();
  running.counters = head().is_end_to_end != 0 ? counters_there() : 0;
  if (head().is_end_to_end != 0 && running.start_ns != 0) store();
  __atomic_store_n(&head().chosen, uint64_t{no_line}, __ATOMIC_RELAXED);
}

void wait_for_coordinator() {
  if (is_coordinator && has_thread) STAB_REAL(pthread_join)(coordinating, nullptr);
  has_thread = false;
}

void leave_experiments() {
  is_coordinator = false;
}

uint64_t speed_up(uint32_t line, uint64_t interval_ns) {
  if (load(head().asked) == line_asked) {
    uint64_t asked = line_asked;
    __atomic_compare_exchange_n(&head().asked, &asked, first_answer + line, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
  }
  const uint64_t chosen = load(head().chosen);
  if (static_cast<uint32_t>(chosen) != line) return 0;
  add(head().line_ns, interval_ns);
  return interval_ns * (chosen >> 32) / 1000;
}

}  // namespace stab::causal
