// SPDX-License-Identifier: MIT
#include "causal/preload/sampler.h"

#include <signal.h>
#include <ucontext.h>

#include "causal/preload/experiments.h"
#include "causal/preload/kernel.h"
#include "causal/preload/lines.h"
#include "causal/preload/points.h"
#include "causal/preload/thread.h"
#include "runtime/arch/restart.h"
#include "runtime/arch/signal_return.h"
#include "runtime/base/os.h"

namespace stab::causal {
namespace {

// Returns the CPU time that this sample stands for: the time since the last one.
uint64_t take_interval() {
  const uint64_t now = os::clock_ns(os::thread_cpu_clock);
  const uint64_t asked = shared_file.head->sample_ns;
  uint64_t interval = now - self.sampled_at;
  self.sampled_at = now;
  // The clock also went off in the kernel, without a signal, so this time belongs to several
  // periods.
  if (self.sampler == perf_event_user)
    interval /= interval < asked ? 1 : (interval + asked / 2) / asked;
  // If signals were kept away for long, the pause must not become as long.
  constexpr uint64_t ticks = 32000000;
  return interval < 8 * asked + ticks ? interval : 8 * asked + ticks;
}

void count_sample(ucontext_t& interrupted) {
  Head& head = *shared_file.head;
  const uint64_t interval = take_interval();
  add(head.samples, uint64_t{1});
  add(head.sampled_ns, interval);
  bool is_whole = true;
  const uint32_t line = innermost_line(interrupted, is_whole);
  if (!is_whole) add(head.unwound_short, 1u);
  if (line == no_line) {
    add(head.samples_outside, uint64_t{1});
    return;
  }
  add(shared_file.line_counts[line].samples, uint64_t{1});
  visit_sampled_points(line);
  run_ahead(speed_up(line, interval));
}

// If the queue of signals is full, the kernel says nothing about a signal's origin.
bool is_of_a_clock(const siginfo_t& info) {
  return info.si_code > 0 || info.si_code == SI_TIMER ||
         (info.si_code == SI_USER && info.si_pid == 0);
}

void on_signal(int, void* info, void* context) {
  if (load(has_left)) return;
  auto& interrupted = *static_cast<ucontext_t*>(context);
  if (is_counted() && is_of_a_clock(*static_cast<siginfo_t*>(info))) {
    count_sample(interrupted);
    // A frame of the program may be above ours, on another stack.
    if (!is_waiting(static_cast<uint64_t>(interrupted.uc_mcontext.gregs[REG_RSP]))) settle(true);
  }
  // If a sample takes longer than the time between two samples, the program would never go on. The
  // next sample stands for the dropped ones, too.
  kernel::drop_pending(sample_signal);
  rt::restart_system_call(interrupted, sample_signal);
}

bool may_use(uint32_t sampler) {
  const uint32_t only = shared_file.head->only_sampler;
  return only == no_sampler || only == sampler;
}

bool start_clock(uint32_t sampler) {
  if (!may_use(sampler)) return false;
  self.clock =
      kernel::start_clock(shared_file.head->sample_ns, sample_signal, sampler == perf_event_user);
  if (self.clock == nullptr) return false;
  self.sampler = sampler;
  return true;
}

bool start_timer() {
  if (!may_use(cpu_timer)) return false;
  const long timer = os::make_thread_timer(self.id, sample_signal, nullptr);
  if (os::failed(timer)) return false;
  self.timer = static_cast<int>(timer);
  const uint64_t period = shared_file.head->sample_ns;
  os::set_timer(self.timer, self.sampled_at + period, period);
  self.sampler = cpu_timer;
  return true;
}

uint64_t bit_of(int signal) {
  return uint64_t{1} << (signal - 1);
}

void set_action(uint64_t also) {
  const os::SignalAction action = {on_signal,
                                   os::flag_siginfo | os::flag_restart | os::flag_restorer | also,
                                   rt::return_from_signal, ~uint64_t{0}};
  os::signal_action(sample_signal, &action, nullptr);
}

}  // namespace

void prepare_sampling() {
  set_action(os::flag_onstack);
}

void leave_alternate_stacks() {
  set_action(0);
}

void start_sampling() {
  self.sampled_at = os::clock_ns(os::thread_cpu_clock);
  const uint64_t mask = os::exchange_signal_mask(~uint64_t{0});
  self.sampler = no_sampler;
  if (start_clock(perf_event) || start_clock(perf_event_user) || start_timer()) {
    // Nothing more to try.
  }
  os::set_signal_mask(mask & ~bit_of(sample_signal));
  if (self.sampler == no_sampler) return;
  uint32_t none = no_sampler;
  __atomic_compare_exchange_n(&shared_file.head->sampled_by, &none, self.sampler, false,
                              __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void stop_sampling() {
  const uint32_t sampler = self.sampler;
  self.sampler = no_sampler;
  if (sampler == cpu_timer) {
    os::delete_timer(self.timer);
  } else if (sampler != no_sampler) {
    kernel::stop_clock(self.clock);
  }
}

}  // namespace stab::causal
