// SPDX-License-Identifier: MIT
#pragma once

#include <ucontext.h>

namespace stab::rt {

// In the handler of one of our signals. A system call that the signal interrupted, and that the
// kernel does not start again by itself, is started again: the program sees no EINTR of a signal
// that its thread handled for us. (A thread that is signalled in a wait has begun it since the last
// epoch: a timeout that begins anew adds little.)
void restart_system_call(ucontext_t& context, int own_signal);

// The same for a signal that interrupts io_uring_enter only. Other calls have ended for a reason
// that programs do not see (SIGCONT, a debugger), and are started again, or because a handler of
// the program has just returned, and must end: so nothing is done in programs that have handlers.
void restart_uninterrupted_call(ucontext_t& context, int own_signal);

}  // namespace stab::rt
