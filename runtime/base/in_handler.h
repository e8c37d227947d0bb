// SPDX-License-Identifier: MIT
// Proof that the caller runs in our signal handler: functions that only handlers may call take one.
// Only the handler's entry can make it, so the compiler refuses a call from anywhere else.
// handler_test.sh finds these functions by the type's name in the symbols, and inspects all their
// object files: they reach no lock, no function of libc and no function of the heap. Functions that
// the program's handlers may call don't take this type, because they have other callers, too. There
// outside_handlers.h excludes functions that wait or ask libc, and handler_test.sh follows every
// call.
#pragma once

namespace stab::rt {

class InHandler {
 public:
  InHandler(const InHandler&) = delete;
  InHandler& operator=(const InHandler&) = delete;

 private:
  InHandler() = default;
  friend struct EpochHandler;  // epoch_signal.cc: the kernel calls us there
};

}  // namespace stab::rt
