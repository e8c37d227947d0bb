// SPDX-License-Identifier: MIT
// Starts and ends the library in a process.
#pragma once

namespace stab::causal {

// Opens the session that STAB_CAUSAL names. It does so once, on the first thread; calls that come
// before our constructor may need it.
void start_library();

// For a process that ends by itself; only the first call counts. It does nothing in a child of
// vfork, which uses its parent's memory.
void end_process();

// Call these around a call that makes this process another program. No sample may be pending,
// since its signal would end the other program. resume_program() is for a call that has failed.
void leave_program();
void resume_program();

// The process is about to forbid itself system calls, so neither it nor its children take part any
// longer.
void leave_session();

}  // namespace stab::causal
