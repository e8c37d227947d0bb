// SPDX-License-Identifier: MIT
// Proof that the caller runs in our signal handler: what is for handlers alone takes one. Only the
// handler's entry can make it, so the compiler refuses a way there from anywhere else.
// handler_test.sh finds who takes it by the type's name in the symbols, and looks at the objects of
// all of them: they reach no lock, nothing of libc's and nothing of the heap's. What handlers of the
// program may call has no such type, for it is called elsewhere, too: there outside_handlers.h keeps
// out what waits or asks libc, and handler_test.sh follows all that is reached.
#pragma once

namespace stab::rt {

class InHandler {
 public:
  InHandler(const InHandler&) = delete;
  InHandler& operator=(const InHandler&) = delete;

 private:
  InHandler() = default;
  friend struct EpochHandler;  // epoch_signal.cc: where the kernel calls us
};

}  // namespace stab::rt
