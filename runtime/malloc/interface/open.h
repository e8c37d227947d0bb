// SPDX-License-Identifier: MIT
// Sets up the allocator that the options ask for.
#pragma once

#include <stdint.h>

#include "runtime/base/options.h"
#include "runtime/malloc/allocators/allocator.h"

namespace stab::heap {

// Called once in a process (Choice 2), after find_system_heap() if the system's allocator is not
// libc's.
const Allocator& open_allocator(const rt::Options& options, uint64_t seed);

}  // namespace stab::heap
