// SPDX-License-Identifier: MIT
// The gentlest way to another layout: the system's allocator, where one request in 32 is raised to
// the next size that it tells apart. Every address behind a raised block differs. Blocks are
// counted by cache.h, with the bytes that were asked for.
#pragma once

#include <stdint.h>

namespace stab::heap {

void open_stretched(uint64_t seed);

}  // namespace stab::heap
