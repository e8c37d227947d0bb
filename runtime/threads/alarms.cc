// SPDX-License-Identifier: MIT
#include "runtime/threads/alarms.h"

#include "runtime/base/os.h"

namespace stab::rt::alarms {
namespace {

struct Alarm {
  int thread;
  int timer;
  uint64_t round;
};
constinit Alarm alarms[most] = {};
uint32_t count;
uint64_t round;

Alarm* find(int thread) {
  for (uint32_t i = 0; i < count; ++i)
    if (alarms[i].thread == thread) return &alarms[i];
  return nullptr;
}

void remove(Alarm& alarm) {
  os::delete_timer(alarm.timer);
  alarm = alarms[--count];
}

}  // namespace

void begin() {
  ++round;
}

void set(int thread, uint64_t when_ns, int signal, const void* value) {
  if (Alarm* alarm = find(thread)) {
    alarm->round = round;
    if (!os::failed(os::set_timer_in(alarm->timer, when_ns))) return;
    // That one has ended, and another has got its number.
    remove(*alarm);
  }
  if (count == most || count >= os::most_pending_signals() / 8) return;
  const long timer = os::make_thread_timer(thread, signal, value);
  if (os::failed(timer)) return;
  alarms[count++] = {thread, static_cast<int>(timer), round};
  os::set_timer_in(static_cast<int>(timer), when_ns);
}

void end(bool (*is_there)(int thread)) {
  for (uint32_t i = 0; i < count;)
    if (alarms[i].round == round || is_there(alarms[i].thread))
      ++i;
    else
      remove(alarms[i]);
}

void set_again(int timer, uint64_t when_ns) {
  os::set_timer_in(timer, when_ns);
}

void stop() {
  while (count != 0) remove(alarms[count - 1]);
}

void forget() {
  count = 0;
}

}  // namespace stab::rt::alarms
