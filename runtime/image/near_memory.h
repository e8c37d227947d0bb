// SPDX-License-Identifier: MIT
// Memory within reach of a 32-bit displacement from all of an image, and from everything else of
// the image that lies on the same side of it.
#pragma once

#include <stdint.h>

#include "runtime/base/random.h"

namespace stab::rt {

enum class Side : uint8_t { either, below, above };

// Reserves `size` bytes (a multiple of the page size) at random near [low, high), readable and
// writable. With Side::either it chooses the side and tells. nullptr: there is no such memory.
uint8_t* reserve_near(uint64_t size, uint64_t low, uint64_t high, Random& random, Side& side);

// Whether put_code will work, as far as a page of our own tells: a sandbox may refuse it.
bool can_put_code();

// Makes the pages at `from` executable and puts them in the place of those at `to` in one step: who
// comes to one of them meanwhile waits in the kernel. Returns false if the kernel refuses, and then
// `to` is as it was; where the kernel has removed it, the process ends.
bool put_code(uint64_t from, uint64_t size, uint64_t to);

}  // namespace stab::rt
