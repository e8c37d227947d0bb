// SPDX-License-Identifier: MIT
// When the next epoch is due: after a period of CPU time of the process, or later, so that epochs
// cost no larger share of it than the budget allows. Each running thread has an alarm. From Linux
// 6.4 on, a timer of the process stands behind them, for threads that have none. Before 6.4 its
// signal would wake a thread that sleeps, so there is no such timer, and what is lost is counted.
//
// One caller at a time, but for is_due(), set_own_alarm() and put_off(). `all_listed`: threads.h knows the threads
// that there are, and which of them run.
#pragma once

#include <stdint.h>

#include "runtime/base/options.h"

namespace stab::rt::schedule {

struct Signals {
  int number;
  const void* timer;  // the values that tell them apart
  const void* alarm;
};
void configure(const Options& options, const Signals& signals);

// In a process that has none. nullptr, or why there is no timer.
const char* start(bool all_listed);
void stop();
// Between these two no alarm comes, and threads keep theirs.
void pause();
void go_on();

// The beginning of an epoch: the timer of the process, which plan_next() sets again, must not come
// while threads are in our handlers. The kernel would wake a sleeper in their place.
void hold();

// The end of an epoch calls this with the CPU time that the epoch cost its thread. `by_timer`: the
// timer of the process started the epoch, not an alarm.
void plan_next(bool by_timer, bool all_listed, uint64_t cost_ns);

uint64_t asked_period();
// From start() to the end of the last epoch.
uint64_t time_until_last();
// The most threads at a time that ran at the end of an epoch and got no alarm, with no timer of the
// process behind them.
uint64_t most_without_alarm();
// CPU time by which epochs came later than they were due.
uint64_t time_late();

bool is_due();
// For the calling thread.
void set_own_alarm();
// In the handler of an alarm, which is set again if it came early.
bool is_due(int alarm);
// In a handler that finds an epoch under way: of an alarm, or of the timer.
void put_off(int alarm);
void put_off();

// In a child of fork.
void forget_alarms();

}  // namespace stab::rt::schedule
