// SPDX-License-Identifier: MIT
// Memory for the heap's own records. It lies apart from the program's blocks, so that writes beyond
// the end of a block do not reach it.
#pragma once

#include <stddef.h>

#include "runtime/malloc/memory/lock.h"

namespace stab::heap {

// Returns a piece that is zeroed and aligned to 64 bytes, or nullptr if there is no memory.
void* new_metadata(size_t size);
// `size` must be the size that was requested. nullptr is ignored.
void drop_metadata(void* piece, size_t size);

// For fork only.
extern Lock metadata_lock;

}  // namespace stab::heap
