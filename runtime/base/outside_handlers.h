// SPDX-License-Identifier: MIT
// Proof that the caller is in no handler of ours, stops no thread, and is nothing that a handler of
// the program's may call: what waits for epochs or asks libc takes one. Only those named here can
// make it. So the compiler refuses a way from a handler to there, and who opens one has to change
// this list.
//
// Invariants:
//   1. What runs in a handler of ours, or may be called in one of the program's, waits for nobody,
//      asks libc for nothing that may wait, and leaves the heap alone. (Two things wait for a
//      while: an epoch's handler for other threads, _exit for another one's last line.)
//   2. The functions of libc that it hands on to are looked up at our start or before it.
//   3. Where main and the first thread begin, and how large stacks are, is said before there is
//      either.
#pragma once

namespace stab::rt {

class OutsideHandlers {
  OutsideHandlers() = default;
  friend struct AtStartAndEnd;  // start.cc: before constructors, in those of libraries, at exit
  friend struct BeforeSandbox;  // sandbox.cc: in calls of the program
  friend struct BeforeStart;
};

// In calls before our start, by resolvers of libraries and what the program put before us: none of
// its handlers and threads is there yet. What has to come then takes one. Where either function
// comes later it ends the process.
struct BeforeStart {
  BeforeStart();
  static OutsideHandlers outside();
  static void end();
};

}  // namespace stab::rt
