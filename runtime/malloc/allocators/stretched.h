// SPDX-License-Identifier: MIT
// The system's allocator, where one request in 32 is raised to the next size that it distinguishes:
// every block behind a raised one gets another address. cache.h counts the blocks, with the bytes
// that were asked for.
#pragma once

#include <stdint.h>

namespace stab::heap {

void open_stretched(uint64_t seed);

}  // namespace stab::heap
