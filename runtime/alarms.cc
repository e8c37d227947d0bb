// SPDX-License-Identifier: MIT
#include "runtime/alarms.h"

#include "runtime/os.h"
#include "runtime/threads.h"

namespace stab::rt::alarms {
namespace {

struct Alarm {
  int thread;
  int timer;
  uint64_t round;
};
constinit Alarm alarms[most_threads + 1] = {};
uint32_t count;
uint32_t next;  // threads are listed in the same order again and again
uint64_t round;

Alarm* find(int thread) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t at = next + i < count ? next + i : next + i - count;
    if (alarms[at].thread != thread) continue;
    next = at + 1 < count ? at + 1 : 0;
    return &alarms[at];
  }
  return nullptr;
}

}  // namespace

void begin() {
  ++round;
}

void set(int thread, bool runs, uint64_t when_ns, int signal, const void* value) {
  Alarm* alarm = find(thread);
  if (alarm != nullptr) {
    alarm->round = round;
    if (!runs || !os::failed(os::set_timer_in(alarm->timer, when_ns))) return;
    // That one has ended, and another has got its number.
    os::delete_timer(alarm->timer);
    *alarm = alarms[--count];
  }
  if (count == most_threads + 1) return;
  const long timer = os::make_thread_timer(thread, signal, value);
  if (os::failed(timer)) return;
  alarms[count++] = {thread, static_cast<int>(timer), round};
  os::set_timer_in(static_cast<int>(timer), when_ns);
}

void end() {
  for (uint32_t i = 0; i < count;) {
    if (alarms[i].round == round) {
      ++i;
      continue;
    }
    os::delete_timer(alarms[i].timer);
    alarms[i] = alarms[--count];
  }
  next = 0;
}

void set_again(int timer, uint64_t when_ns) {
  os::set_timer_in(timer, when_ns);
}

void stop() {
  for (uint32_t i = 0; i < count; ++i) os::delete_timer(alarms[i].timer);
  count = 0;
}

void forget() {
  count = 0;
}

}  // namespace stab::rt::alarms
