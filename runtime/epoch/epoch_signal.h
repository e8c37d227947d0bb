// SPDX-License-Identifier: MIT
// The signal that calls for epochs and stops threads. libc keeps it for itself (to cancel threads)
// and never lets a program block it, wait for it or handle it; gdb passes it on without a word.
// What libc sends with it is handed on.
#pragma once

#include <signal.h>
#include <ucontext.h>

namespace stab::rt::epoch_signal {

constexpr int number = 32;

// The addresses of these are sent along with it, and say what it is about.
extern char timer;  // of the process: an epoch may be due
extern char alarm;  // of a thread: the same
extern char call;   // the program asked for an epoch
extern char stop;   // an epoch has begun

using Answer = void (*)(const siginfo_t& about, ucontext_t* interrupted);

// False: the kernel refuses.
bool install(Answer answer);
// After libc may have put its own handler in place of ours.
void install_again();

// Whether signals of ours are answered. Once they are not, the handler makes no system call: the
// program may have forbidden it.
void be_answered(bool yes);
bool is_answered();
// Until no thread answers one.
void wait_for_handlers();

// In a child of fork, where no other thread answers.
void forget();

}  // namespace stab::rt::epoch_signal
