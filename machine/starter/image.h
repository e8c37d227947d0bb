// SPDX-License-Identifier: MIT
// stab-starter (main.cc), which this program carries along as bytes, and files in memory.
#pragma once

#include "base/fd.h"

namespace stab::machine {

// Descriptors below it may be the streams of others.
inline constexpr int first_free = 10;

// A new file in memory that can be sealed, at a descriptor from first_free on; `flags` are memfd_create's. Not open and
// errno: the kernel refuses.
Fd sealable_file(const char* name, unsigned flags);

// A descriptor to execute stab-starter by, the same at each call; -1 and errno: the kernel refuses.
int starter_image();

}  // namespace stab::machine
