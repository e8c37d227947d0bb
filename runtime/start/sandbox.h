// SPDX-License-Identifier: MIT
#pragma once

#include "runtime/base/outside_handlers.h"

namespace stab::rt {

// A program that is about to forbid system calls (seccomp) does not know ours: epochs end before it
// does, and go on if the kernel refuses. Finds libc's own functions, which ours of the same names
// call.
void prepare_sandbox(const OutsideHandlers& proof);

// True from the moment before the program asks for a sandbox, unless the kernel refuses it: from
// then on, system calls of ours that libc would not make may be forbidden.
bool may_be_in_sandbox();

}  // namespace stab::rt
