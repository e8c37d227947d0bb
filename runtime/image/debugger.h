// SPDX-License-Identifier: MIT
#pragma once

#include "runtime/base/options.h"
#include "runtime/image/image.h"

namespace stab::rt {

// Names of the copies for perf (a map file, on request) and for gdb (on request, or when the
// process is traced).
void introduce_to_debuggers(Image& image, const Options& options);
// Whether a debugger (or strace) watches this process.
bool is_traced();
void withdraw_from_debuggers(Image& image);

}  // namespace stab::rt
