// SPDX-License-Identifier: MIT
// When the next epoch is due: the alarms of threads, and then the schedule, which sets them.
#include "runtime/epoch/schedule.h"

#include <stdint.h>

#include "runtime/base/os.h"
#include "runtime/epoch/threads.h"

// Each thread has a timer on its own CPU time, which signals that thread. The thread runs at that
// moment, so the signal wakes nobody: the kernel (from 5.10 on) checks these timers when a thread
// returns to its program. A signal to the whole process could wake a sleeper, whose call ends with
// EINTR although another thread handled the signal. (epoch_signal.h says which signal that is.)
//
// Any thread may call set_own() and set_again() at any time. The other functions have one caller at
// a time.
namespace stab::rt::alarms {

// A timer takes a place in the queue of signals, which the program's own signals need, so the
// number of timers is limited.
constexpr uint32_t most = 512;

// Between begin() and end(), set() is called for each thread that runs and can answer the signal.
void begin();
void set(int thread, uint64_t when_ns, int signal, const void* value);
// Other threads that still exist keep their alarms.
void end(bool (*is_there)(int thread));

// Gives the calling thread an alarm if it has none and there is room. The thread keeps it at least
// until the end() after the next one, which knows whether the thread exists.
void set_own(uint64_t when_ns, int signal, const void* value);

// Called in the handler of the alarm's signal, which tells which timer it was.
void set_again(int timer, uint64_t when_ns);

// After end(), for a thread that runs and has no alarm. drop_ended() drops the alarms of threads
// that have ended. If there is still no room, take_over() takes the alarm of a thread for which
// set() was not called, and returns false if there is no such alarm.
void drop_ended();
bool take_over(int thread, uint64_t when_ns, int signal, const void* value);
bool is_set(int thread);

void stop();
// Alarms stay with their threads, but don't expire until go_on(). Nobody may set one meanwhile.
void pause();
void go_on(uint64_t when_ns);
// Called in a child of fork, which does not inherit the timers.
void forget();

namespace {

// Alarm::thread is the thread's number, or one of these.
constexpr int nobody = 0;
constexpr int being_made = -1;
struct Alarm {
  int thread;
  int timer;
  uint64_t round;
};
constinit Alarm alarms[most] = {};
uint64_t round;

Alarm* find(int thread) {
  for (Alarm& alarm : alarms)
    if (__atomic_load_n(&alarm.thread, __ATOMIC_ACQUIRE) == thread) return &alarm;
  return nullptr;
}

// Threads that have ended keep their alarms until the next epoch. So most alarms may be taken, and
// a look costs much less than an attempt to take one.
Alarm* take_free() {
  for (Alarm& alarm : alarms) {
    int none = nobody;
    if (__atomic_load_n(&alarm.thread, __ATOMIC_RELAXED) != none) continue;
    if (__atomic_compare_exchange_n(&alarm.thread, &none, being_made, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED))
      return &alarm;
  }
  return nullptr;
}

void give(Alarm& alarm, int thread) {
  __atomic_store_n(&alarm.thread, thread, __ATOMIC_RELEASE);
}

void make(int thread, uint64_t kept_until, uint64_t when_ns, int signal, const void* value) {
  Alarm* alarm = take_free();
  if (alarm == nullptr) return;
  const bool few =
      alarm == alarms || static_cast<uint64_t>(alarm - alarms) < os::most_pending_signals() / 8;
  const long timer = few ? os::make_thread_timer(thread, signal, value) : -1;
  if (os::failed(timer)) return give(*alarm, nobody);
  alarm->timer = static_cast<int>(timer);
  alarm->round = kept_until;
  os::set_timer_in(alarm->timer, when_ns);
  give(*alarm, thread);
}

void remove(Alarm& alarm) {
  os::delete_timer(alarm.timer);
  give(alarm, nobody);
}

bool is_made(const Alarm& alarm) {
  return __atomic_load_n(&alarm.thread, __ATOMIC_ACQUIRE) > nobody;
}

}  // namespace

void begin() {
  __atomic_fetch_add(&round, 1, __ATOMIC_RELAXED);
}

void set(int thread, uint64_t when_ns, int signal, const void* value) {
  if (Alarm* alarm = find(thread)) {
    alarm->round = round;
    if (!os::failed(os::set_timer_in(alarm->timer, when_ns))) return;
    // The alarm's thread has ended, and another thread has its number now.
    remove(*alarm);
  }
  make(thread, round, when_ns, signal, value);
}

void end(bool (*is_there)(int thread)) {
  for (Alarm& alarm : alarms)
    if (is_made(alarm) && alarm.round < round && !is_there(alarm.thread)) remove(alarm);
}

void drop_ended() {
  for (Alarm& alarm : alarms)
    if (is_made(alarm) && os::thread_cpu_ns(alarm.thread) == 0) remove(alarm);
}

bool take_over(int thread, uint64_t when_ns, int signal, const void* value) {
  make(thread, round, when_ns, signal, value);
  if (is_set(thread)) return true;
  for (Alarm& alarm : alarms) {
    if (!is_made(alarm) || alarm.round >= round) continue;
    remove(alarm);
    make(thread, round, when_ns, signal, value);
    return is_set(thread);
  }
  return false;
}

bool is_set(int thread) {
  return find(thread) != nullptr;
}

void set_own(uint64_t when_ns, int signal, const void* value) {
  const int own = os::thread_id();
  if (find(own) == nullptr)
    make(own, __atomic_load_n(&round, __ATOMIC_RELAXED) + 1, when_ns, signal, value);
}

void set_again(int timer, uint64_t when_ns) {
  os::set_timer_in(timer, when_ns);
}

void stop() {
  for (Alarm& alarm : alarms)
    if (is_made(alarm)) remove(alarm);
}

void pause() {
  for (const Alarm& alarm : alarms)
    if (is_made(alarm)) os::set_timer_in(alarm.timer, 0);
}

void go_on(uint64_t when_ns) {
  for (Alarm& alarm : alarms)
    if (is_made(alarm) && os::failed(os::set_timer_in(alarm.timer, when_ns))) remove(alarm);
}

// The first write to each page costs a child a page fault, so only what is not zero is written.
void forget() {
  for (Alarm& alarm : alarms)
    if (__atomic_load_n(&alarm.thread, __ATOMIC_RELAXED) != nobody) give(alarm, nobody);
}

}  // namespace stab::rt::alarms

namespace stab::rt::schedule {
namespace {

// A shorter time might expire while the handler still runs.
constexpr uint64_t least_pause = 1000000;

Signals signals;
uint64_t asked;
uint64_t budget;      // percent; 0: no limit
uint64_t period;      // as asked for, or longer; read in all handlers
uint64_t usual_cost;  // of an epoch
uint64_t started_at;
uint64_t last_at;
int timer_clock;
int timer;
uint64_t next_at;  // when the next epoch is due, on the timer's clock
bool alarms_used;  // if so, the process's timer comes after the threads' own
bool timer_used;
uint64_t without_alarm;
uint64_t late;

// The process's timer is for threads that have no alarm, because libc did not start them or there
// are too many, if no other thread runs. If there are alarms, the timer comes long after them,
// because it wakes a sleeper if the running thread blocks the signal. It repeats in case a signal
// is lost.
long set_timer(uint64_t due, bool behind_alarms) {
  if (!timer_used) return 0;
  constexpr uint64_t least_delay = 1000000000;
  constexpr uint64_t least_repeat = 200000000;
  const uint64_t delay = period > least_delay ? period : least_delay;
  const uint64_t repeat = 8 * period;
  return os::set_timer(timer, alarms_used && behind_alarms ? due + delay : due,
                       repeat > least_repeat ? repeat : least_repeat);
}

void set_alarm(int thread, uint64_t when_ns) {
  alarms::set(thread, when_ns, signals.number, signals.alarm);
}

// If the process has no timer, running threads need an alarm more than sleeping ones.
void give_to_runners(uint64_t when_ns) {
  uint64_t missing = !alarms::is_set(os::thread_id());
  bool looked_for_ended = false;
  for (uint32_t i = 0; i < thread_count(); ++i) {
    const Thread& runner = thread(i);
    if (runner.state() != ThreadState::stopped || alarms::is_set(runner.id)) continue;
    if (!looked_for_ended) alarms::drop_ended();
    looked_for_ended = true;
    const bool taken = alarms::take_over(runner.id, when_ns, signals.number, signals.alarm);
    missing += !taken && os::thread_cpu_ns(runner.id) != 0;  // else the thread has ended meanwhile
  }
  if (missing > without_alarm) without_alarm = missing;
}

// The running threads share `remaining`, the time until the next epoch. A thread that has not
// answered gets no alarm: a library may wait for this signal in a thread of its own, and would take
// our signal for its own timer's.
void set_alarms(uint64_t remaining, bool all_listed) {
  if (!alarms_used) return;
  if (!all_listed) return set_alarm(os::thread_id(), remaining);
  uint64_t runners = 1;
  for (uint32_t i = 0; i < thread_count(); ++i)
    runners += thread(i).state() == ThreadState::stopped;
  alarms::begin();
  set_alarm(os::thread_id(), remaining / runners);
  for (uint32_t i = 0; i < thread_count(); ++i) {
    if (thread(i).state() == ThreadState::stopped) set_alarm(thread(i).id, remaining / runners);
  }
  alarms::end(is_listed);
  if (!timer_used) give_to_runners(remaining / runners);
}

// Counts how late the current epoch is, beyond the usual inaccuracy of alarms.
void count_lateness(uint64_t now) {
  const uint64_t usual = period / 16 + least_pause;
  if (now > next_at + usual) late += now - next_at;
}

// The budget holds over several epochs, not for each one.
void stretch(uint64_t cost_ns) {
  usual_cost = usual_cost == 0 ? cost_ns : (usual_cost + cost_ns) / 2;
  const uint64_t least = budget == 0 ? 0 : usual_cost * 100 / budget;
  __atomic_store_n(&period, least > asked ? least : asked, __ATOMIC_RELAXED);
}

}  // namespace

void configure(const Options& options, const Signals& values) {
  signals = values;
  asked = options.period;
  period = asked;
  budget = options.budget;
  timer_clock = options.wall ? os::monotonic_clock : os::process_cpu_clock;
  alarms_used = !options.wall;
  timer_used = options.wall || os::kernel_is_at_least(6, 4);
}

const char* start(bool all_listed) {
  constexpr const char* refused = "the runtime cannot create its timer (timer_create was refused)";
  if (timer_used) {
    const long made = os::make_timer(timer_clock, signals.number, signals.timer);
    if (os::failed(made)) return refused;
    timer = static_cast<int>(made);
  }
  started_at = os::clock_ns(timer_clock);
  last_at = started_at;
  next_at = started_at + period;
  if (os::failed(set_timer(next_at, true)))
    return "the runtime cannot start its timer (timer_settime was refused)";
  set_alarms(period, all_listed);
  return timer_used || alarms::is_set(os::thread_id()) ? nullptr : refused;
}

void stop() {
  alarms::stop();
  hold();
}

void pause() {
  alarms::pause();
  hold();
}

void go_on() {
  const uint64_t now = os::clock_ns(timer_clock);
  if (next_at < now + least_pause) __atomic_store_n(&next_at, now + least_pause, __ATOMIC_RELAXED);
  alarms::go_on(next_at - now);
  set_alarms(next_at - now, false);
  // Threads that began meanwhile have no alarm, so the timer must not come a whole second late.
  constexpr uint64_t delay = 100000000;
  set_timer(next_at + delay, false);
}

void plan_next(bool by_timer, bool all_listed, uint64_t cost_ns) {
  const uint64_t now = os::clock_ns(timer_clock);
  last_at = now;
  count_lateness(now);
  stretch(cost_ns);
  uint64_t due = (next_at < now ? next_at : now) + period;
  if (due < now + least_pause) due = now + least_pause;
  __atomic_store_n(&next_at, due, __ATOMIC_RELAXED);
  set_alarms(due - now, all_listed);
  set_timer(due, !by_timer);
}

void hold() {
  if (timer_used) os::set_timer(timer, 0, 0);
}

namespace {
void set_own_alarm_in(uint64_t rest) {
  if (!alarms_used) return;
  alarms::set_own(rest > least_pause ? rest : least_pause, signals.number, signals.alarm);
}

uint64_t time_until_due() {
  const uint64_t due = __atomic_load_n(&next_at, __ATOMIC_RELAXED);
  const uint64_t now = os::clock_ns(timer_clock);
  return due > now ? due - now : 0;
}
}  // namespace

void set_own_alarm() {
  set_own_alarm_in(time_until_due());
}

bool set_own_alarm_unless_due() {
  const uint64_t rest = time_until_due();
  if (rest == 0) return false;
  set_own_alarm_in(rest);
  return true;
}

bool is_due(int alarm) {
  const uint64_t due = __atomic_load_n(&next_at, __ATOMIC_RELAXED);
  const uint64_t now = os::clock_ns(timer_clock);
  if (now + __atomic_load_n(&period, __ATOMIC_RELAXED) / 16 >= due) return true;
  // Other threads ran less than expected.
  const uint64_t half = (due - now) / 2;
  alarms::set_again(alarm, half > least_pause ? half : least_pause);
  return false;
}

void put_off(int alarm) {
  alarms::set_again(alarm, least_pause);
}

void put_off() {
  set_timer(os::clock_ns(timer_clock) + period, true);
}

uint64_t asked_period() {
  return asked;
}

uint64_t most_without_alarm() {
  return without_alarm;
}

uint64_t time_late() {
  return late;
}

uint64_t time_until_last() {
  return last_at - started_at;
}

void forget_alarms() {
  without_alarm = 0;
  late = 0;
  alarms::forget();
}

}  // namespace stab::rt::schedule
