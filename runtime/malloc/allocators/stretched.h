// SPDX-License-Identifier: MIT
// The system's allocator, but one request in 32 is raised to the next size class, so that every
// block behind a raised one gets another address. cache.h counts the blocks, and the bytes that
// were requested.
#pragma once

#include <stdint.h>

namespace stab::heap {

void open_stretched(uint64_t seed);

}  // namespace stab::heap
