// SPDX-License-Identifier: MIT
// The signal that calls for epochs and stops threads. libc keeps it for itself (to cancel threads)
// and never lets a program block it, wait for it or handle it; gdb passes it on without a word.
// What libc sends with it is handed on.
#pragma once

#include <signal.h>
#include <ucontext.h>

#include "runtime/base/in_handler.h"

namespace stab::rt::epoch_signal {

constexpr int number = 32;

// The signal carries the address of one of these, which says what it calls for.
extern char timer;  // of the process: an epoch may be due
extern char alarm;  // of a thread: the same
extern char call;   // the program asked for an epoch
extern char begin;  // of a thread that begins: an epoch is due
extern char stop;   // an epoch has begun

using Answer = void (*)(const InHandler& proof, const siginfo_t& about, ucontext_t* interrupted);

// Returns false if the kernel refuses it.
bool install(Answer answer);
// Installs our handler again, where libc may have replaced it. Go's runtime makes each handler run on
// the alternate stack, because its own stacks are too small: remember_flags(), before libc replaces
// the handler, keeps that.
void remember_flags();
void install_again();

// Whether signals of ours are answered. Once they are not, the handler makes no system call: the
// program may have forbidden it.
void be_answered(bool yes);
bool is_answered();
// Until no thread answers one.
void wait_for_handlers();

// What makes system calls for us outside handlers, too, does so while one of these is true.
class Answering {
 public:
  Answering();
  ~Answering();
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;
  explicit operator bool() const { return is_answered(); }
};

// In a child of fork, where no other thread answers.
void forget();

}  // namespace stab::rt::epoch_signal
