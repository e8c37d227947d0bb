// SPDX-License-Identifier: MIT
// The signal that calls for epochs and stops threads. libc keeps it for itself (to cancel threads)
// and never lets a program block it, wait for it or handle it; gdb passes it on silently. Signals
// that libc sends with this number are passed on to libc's handler.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include "runtime/base/handler_proofs.h"

namespace stab::rt::epoch_signal {

constexpr int number = 32;

// The signal carries the address of one of these, which tells its purpose.
extern char timer;  // sent by the process's timer: an epoch may be due
extern char alarm;  // sent by a thread's timer: an epoch may be due
extern char call;   // the program asked for an epoch
extern char begin;  // sent by a thread to itself when it begins: an epoch is due
extern char stop;   // an epoch has begun

using Answer = void (*)(const InHandler& proof, const siginfo_t& about, ucontext_t* interrupted);

// Returns false if the kernel refuses the handler.
bool install(Answer answer);
// install_again() installs our handler again, where libc may have replaced it. Go's runtime makes
// each handler run on the alternate stack, because its own stacks are too small; remember_flags(),
// called before libc replaces the handler, preserves that.
void remember_flags();
void install_again();

// Whether our signals are answered. If they are not, the program may have forbidden system calls.
// Then the handler makes none except to restart a call that one of our signals other than `alarm`
// interrupted, and to pass on libc's own signal.
void be_answered(bool yes);
bool is_answered();
// Waits until no thread is answering a signal.
void wait_for_handlers();

// Code outside handlers that makes system calls for us does so only while one of these objects is
// true, too.
class Answering {
 public:
  Answering();
  ~Answering();
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;
  explicit operator bool() const { return is_answered(); }
};

// Called in a child of fork, where no other thread answers.
void forget();

}  // namespace stab::rt::epoch_signal
