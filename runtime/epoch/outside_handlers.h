// SPDX-License-Identifier: MIT
// Proof that the caller is in no handler of ours and stops no thread: what waits for epochs or asks
// libc takes one. Only the files named here can make it, none of whose functions a handler calls.
// So the compiler refuses a way from a handler to there, and who opens one has to change this list.
#pragma once

namespace stab::rt {

class OutsideHandlers {
  OutsideHandlers() = default;
  friend struct AtStartAndEnd;  // start.cc: before constructors, in those of libraries, at exit
  friend struct BeforeSandbox;  // sandbox.cc: in calls of the program
};

}  // namespace stab::rt
