// SPDX-License-Identifier: MIT
// The machine code that a handler of one of our signals needs: it restarts the system call that the
// signal interrupted, and returns to the program.
#pragma once

#include <ucontext.h>

namespace stab::rt {

// The handler of one of our signals calls this. It restarts a system call that the signal
// interrupted and that the kernel does not restart by itself: the program must not see EINTR
// because of a signal that its thread handled for us. (A thread that is signalled while it waits
// has begun to wait since the last epoch, so a timeout that starts over adds little.)
void restart_system_call(ucontext_t& context, int own_signal);

// The same for a signal that interrupts only io_uring_enter. Any other call ended either for a
// reason that programs do not see (SIGCONT, a debugger) and must be restarted, or because a handler
// of the program has just returned, and then it must end. The two cannot be told apart, so this
// does nothing in programs that have handlers.
void restart_uninterrupted_call(ucontext_t& context, int own_signal);

}  // namespace stab::rt

// A handler of ours returns to this code, which tells the kernel that the handler is over.
// Unwinders recognise a signal's frame by exactly these bytes if no frame description covers them.
extern "C" __attribute__((visibility("hidden"))) void stab_return_from_signal();

namespace stab::rt {

inline constexpr void (*return_from_signal)() = stab_return_from_signal;

}  // namespace stab::rt
