// SPDX-License-Identifier: MIT
// Each thread has a timer on its own CPU time, whose signal goes to itself. It runs then, so nobody
// is woken: the kernel (from 5.10 on) looks at these timers when a thread returns to its program. A
// signal to the process is another matter: it may wake a sleeper whose call ends with EINTR
// although another thread handled it.
//
// Any thread may call set_own() and set_again() at any time; of the others there is one caller at a
// time.
#pragma once

#include <stdint.h>

namespace stab::rt::alarms {

// A timer takes a place in the queue of signals, which the program's own signals need: so their
// number is limited.
constexpr uint32_t most = 512;

// Between these two calls set() is called for each thread that runs and can answer the signal.
void begin();
void set(int thread, uint64_t when_ns, int signal, const void* value);
// Other threads that still exist keep the alarms that they have.
void end(bool (*is_there)(int thread));

// The calling thread, which has none, gets one if there is room. It keeps it at least until the
// next end() but one, which knows whether the thread is there.
void set_own(uint64_t when_ns, int signal, const void* value);

// In the handler of its signal, which tells which timer it was.
void set_again(int timer, uint64_t when_ns);

// After end(), for a thread that runs and has none. Those of threads that have ended are dropped, and
// then that of one for which set() was not called is taken. Returns false if there is none to be had.
void drop_ended();
bool take_over(int thread, uint64_t when_ns, int signal, const void* value);
bool is_set(int thread);

void stop();
// Alarms stay with their threads, and come no more until go_on(). Nobody may set one meanwhile.
void pause();
void go_on(uint64_t when_ns);
// In a child of fork, which has none of them.
void forget();

}  // namespace stab::rt::alarms
