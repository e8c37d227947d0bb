// SPDX-License-Identifier: MIT
// What the environment says to the runtime.
#pragma once

#include <stdint.h>

#include "runtime/options.h"

namespace stab::rt {

// The value of STABILIZER_OPTIONS, or nullptr. A program that runs with more rights than its
// caller, or of which that cannot be known, takes no orders from the caller's environment.
const char* options_text(char** environment);

// The environment that the kernel gave, before libc knows of it.
char** initial_environment();

// The seed that was given, or a fresh one, the same whenever it is asked for.
uint64_t run_seed(const Options& options);

}  // namespace stab::rt
