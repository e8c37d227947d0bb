// SPDX-License-Identifier: MIT
// When the next epoch is due: after a period of CPU time of the process, or later, so that epochs
// cost no larger share of it than the budget allows. Each running thread has an alarm. From Linux
// 6.4 on, a timer of the process is the fallback for threads without one. Before 6.4 its signal
// would wake a thread that sleeps, so there is no such timer, and the loss is counted.
//
// One caller at a time, except for is_due(), put_off() and the functions that set an own alarm.
// `all_listed`: threads.h knows all threads, and which of them run.
#pragma once

#include <stdint.h>

#include "runtime/base/options.h"

namespace stab::rt::schedule {

struct Signals {
  int number;
  const void* timer;  // the signal's values, which tell the two apart
  const void* alarm;
};
void configure(const Options& options, const Signals& signals);

// Called in a process without timers. Returns nullptr, or the reason why there is no timer.
const char* start(bool all_listed);
void stop();
// Between pause() and go_on() no alarm comes, but threads keep theirs.
void pause();
void go_on();

// Called when an epoch begins: the process's timer, which plan_next() sets again, must not expire
// while threads are in our handlers. The kernel would wake a sleeper in their place.
void hold();

// The end of an epoch calls this with the CPU time that the epoch cost its thread. `by_timer`: the
// timer of the process started the epoch, not an alarm.
void plan_next(bool by_timer, bool all_listed, uint64_t cost_ns);

uint64_t asked_period();
// Time on the timer's clock (CPU time; real time with wall=1) from start() to the end of the last
// epoch.
uint64_t time_until_last();
// The largest number, at one time, of threads that ran at the end of an epoch and got no alarm,
// while the process had no timer as a fallback.
uint64_t most_without_alarm();
// CPU time by which epochs came late.
uint64_t time_late();

// Sets an alarm for the calling thread. The second function returns false, and sets none, if the
// next epoch is due already.
void set_own_alarm();
bool set_own_alarm_unless_due();
// Called in the handler of an alarm. If the alarm came early, this sets it again.
bool is_due(int alarm);
// Called in a handler that finds an epoch under way, because of an alarm or of the timer.
void put_off(int alarm);
void put_off();

// Called in a child of fork.
void forget_alarms();

}  // namespace stab::rt::schedule
