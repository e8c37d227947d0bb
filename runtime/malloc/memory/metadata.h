// SPDX-License-Identifier: MIT
// Memory for what the heap knows about itself, apart from the program's blocks: what a program
// writes beyond its own blocks does not reach it.
#pragma once

#include <stddef.h>

#include "runtime/malloc/memory/lock.h"

namespace stab::heap {

// Zeroed, aligned to 64 bytes; nullptr: there is no memory.
void* new_metadata(size_t size);
// `size` as it was asked for. nullptr is ignored.
void drop_metadata(void* piece, size_t size);

// For fork only.
extern Lock metadata_lock;

}  // namespace stab::heap
