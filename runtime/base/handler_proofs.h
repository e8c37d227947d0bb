// SPDX-License-Identifier: MIT
// Proofs of where the caller runs: in our signal handler (InHandler), outside of all handlers
// (OutsideHandlers), or before our start (BeforeStart). A function that may only be called there
// takes the proof as a parameter, so that the compiler refuses any other call.
#pragma once

namespace stab::rt {

// Proof that the caller runs in our signal handler: functions that only handlers may call take one.
// Only the handler's entry can make it, so the compiler refuses a call from anywhere else.
// handler_test.sh finds these functions by the type's name in the symbols, and inspects all their
// object files: they reach no lock, no function of libc and no function of the heap. Functions that
// the program's handlers may call don't take this type, because they have other callers, too. There
// OutsideHandlers excludes functions that wait or ask libc, and handler_test.sh follows every call.
class InHandler {
 public:
  InHandler(const InHandler&) = delete;
  InHandler& operator=(const InHandler&) = delete;

 private:
  InHandler() = default;
  friend struct EpochHandler;  // epoch_signal.cc: the kernel calls us there
};

// Proof that the caller does not run in one of our handlers, does not stop threads, and can't be
// called by a handler of the program: functions that wait for epochs or ask libc take one. Only the
// friends below can make it. So the compiler refuses such a call from a handler, and to allow one
// you have to change this list.
//
// Invariants:
//   1. Code that runs in a handler of ours, or that a handler of the program may call, does not
//      wait for anybody, does not ask libc for anything that may wait, and leaves the heap alone.
//      (Two functions wait for a while: an epoch's handler for other threads, _exit for another
//      one's last line.)
//   2. The functions of libc to which such code passes calls on are looked up at our start or
//      before it.
//   3. The first frames of main and of the first thread, and the sizes of stacks, are set before
//      main or a thread exists.
class OutsideHandlers {
  OutsideHandlers() = default;
  friend struct AtStartAndEnd;  // start.cc: before constructors, in those of libraries, at exit
  friend struct BeforeSandbox;  // sandbox.cc: in calls by the program
  friend struct BeforeStart;
};

// Proof for calls before our start, by resolvers of libraries and by code that the program put
// before us: none of the program's handlers and threads exists yet. Functions that must run this
// early take one. If either member function is called later, it ends the process.
struct BeforeStart {
  BeforeStart();
  static OutsideHandlers outside();
  static void end();
};

}  // namespace stab::rt
