// SPDX-License-Identifier: MIT
// The library's beginning and end in a process.
#pragma once

namespace stab::causal {

// Opens the session that STAB_CAUSAL names, once; on the first thread. Calls that come before our
// constructor may need it.
void start_library();

// This process ends by itself: once. Nothing happens in a child of vfork, whose memory is its
// parent's.
void end_process();

// Around a call that makes this process another program: no sample may be pending, since it would
// end that one. `resume`: the call has failed.
void leave_program();
void resume_program();

// The process is about to forbid itself system calls: it takes no further part, nor do its children.
void leave_session();

}  // namespace stab::causal
