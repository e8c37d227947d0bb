// SPDX-License-Identifier: MIT
// What the environment says to the runtime.
#pragma once

#include <stdint.h>

#include "runtime/base/options.h"

namespace stab::rt {

// The value of STABILIZER_OPTIONS. nullptr: there is none, or the kernel says (or nobody does) that
// the program runs with more rights than its caller (AT_SECURE). The programs that such a one runs
// read the variable if it hands it on.
const char* options_text(char** environment);

// The environment that the kernel gave, before libc knows of it.
char** initial_environment();

// The seed that was given, or a fresh one, the same whenever it is asked for.
uint64_t run_seed(const Options& options);

}  // namespace stab::rt
