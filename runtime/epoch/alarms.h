// SPDX-License-Identifier: MIT
// Each thread has a timer on its own CPU time, which signals that thread. The thread runs at that
// moment, so the signal wakes nobody: the kernel (from 5.10 on) checks these timers when a thread
// returns to its program. A signal to the whole process could wake a sleeper, whose call ends with
// EINTR although another thread handled the signal.
//
// epoch_signal.h says which signal that is.
//
// Any thread may call set_own() and set_again() at any time. The other functions have one caller at
// a time.
#pragma once

#include <stdint.h>

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

}  // namespace stab::rt::alarms
