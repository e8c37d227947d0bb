// SPDX-License-Identifier: MIT
#pragma once

#include "runtime/base/handler_proofs.h"

namespace stab::rt {

// A program that is about to forbid system calls (seccomp) does not know about ours. So epochs end
// before it does, and go on if the kernel refuses. This finds the libc functions that our functions
// of the same names call.
void prepare_sandbox(const OutsideHandlers& proof);

// True from the moment before the program asks for a sandbox, unless the kernel refuses it. From
// then on, system calls of ours that libc would not make may be forbidden.
bool may_be_in_sandbox();

}  // namespace stab::rt
