// SPDX-License-Identifier: MIT
#pragma once

#include "runtime/image.h"
#include "runtime/options.h"

namespace stab::rt {

// Names of the copies for gdb (JIT interface) and perf (map file), as far as the options ask.
void introduce_to_debuggers(const Image& image, const Options& options);

}  // namespace stab::rt
