// SPDX-License-Identifier: MIT
// Memory within reach of a 32-bit displacement from the whole image, and from all other memory of
// the image that lies on the same side of it.
#pragma once

#include <stdint.h>

#include "runtime/base/random.h"

namespace stab::rt {

enum class Side : uint8_t { either, below, above };

// Reserves `size` bytes (a multiple of the page size) at random near [low, high), readable and
// writable. If `side` is Side::either, it chooses a side and sets `side`. Returns nullptr if there
// is no such memory.
uint8_t* reserve_near(uint64_t size, uint64_t low, uint64_t high, Random& random, Side& side);

// Whether put_code will work, to judge by a page of our own: a sandbox may refuse it.
bool can_put_code();

// Makes the pages at `from` executable and puts them in the place of those at `to` in one step: a
// thread that reaches one of them meanwhile waits in the kernel. Returns false if the kernel
// refuses, and then `to` is unchanged. If the kernel has already removed `to`, the process ends.
bool put_code(uint64_t from, uint64_t size, uint64_t to);

}  // namespace stab::rt
