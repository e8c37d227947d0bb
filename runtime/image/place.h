// SPDX-License-Identifier: MIT
// Chooses the places of copies, and finds memory for them near the image. The memory is regarded as
// a circle of `span` units. Functions lie on it in a random order with random gaps (every division
// of the free space into gaps is equally likely), and the whole is turned by a random angle. So the
// place of each function is uniform on the circle, and its distance to a second function's place is
// nearly uniform.
//
// Invariants:
//   1. span is a multiple of 256 KB and at least twice the size of all functions: bits 4 to 17 of
//      an address vary.
//   2. Copies do not overlap; positions ascend; the last may reach beyond the span by less than its
//      size.
#pragma once

#include <stdint.h>

#include "runtime/base/random.h"

namespace stab::rt {

constexpr uint32_t unit = 16;  // in bytes; all positions and sizes here are multiples of it
constexpr uint32_t span_step = (256u << 10) / unit;

// The number of units of memory for functions of this total size.
uint64_t span_for(uint64_t total_units);

// Reads sizes[f] for f < count. Fills `order` (function by rank) and `position` (by rank), which
// have `count` elements; `scratch` has 2 * count elements. The sum of the sizes is at most span /
// 2.
void place(const uint32_t* sizes, uint32_t count, uint64_t span, Random& random, uint32_t* order,
           uint32_t* position, uint32_t* scratch);

// Checks invariant 2, and that the order has each function once. `scratch` is as above.
bool is_valid_placement(const uint32_t* sizes, uint32_t count, uint64_t span, const uint32_t* order,
                        const uint32_t* position, uint32_t* scratch);

// Memory within reach of a 32-bit displacement from the whole image, and from all other memory of
// the image that lies on the same side of it.

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
