// SPDX-License-Identifier: MIT
#include "runtime/epoch/alarms.h"

#include "runtime/base/os.h"

namespace stab::rt::alarms {
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

Alarm* take_free() {
  for (Alarm& alarm : alarms) {
    int none = nobody;
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
  const auto allowed = os::most_pending_signals() / 8;
  const bool few = alarm == alarms || static_cast<uint64_t>(alarm - alarms) < allowed;
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

void forget() {
  for (Alarm& alarm : alarms) give(alarm, nobody);
}

}  // namespace stab::rt::alarms
