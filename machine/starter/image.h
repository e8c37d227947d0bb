// SPDX-License-Identifier: MIT
// Files in memory, and the one with the program stab-starter (main.cc), which is embedded in this
// program.
#pragma once

#include "base/fd.h"

namespace stab::machine {

// Lower descriptors may be needed for the streams of other processes.
inline constexpr int first_free = 10;

// Creates a file in memory that can be sealed, with a descriptor of at least first_free. `flags`
// are passed to memfd_create(). If the kernel refuses, the result is not open and errno is set.
Fd sealable_file(const char* name, unsigned flags);

// A descriptor for executing stab-starter, the same at each call. If the kernel refuses, returns -1
// and sets errno.
int starter_image();

}  // namespace stab::machine
