// SPDX-License-Identifier: MIT
// Chooses the places of copies. Their memory is regarded as a circle of `span` units. Functions lie
// on it in a random order with random gaps (every division of the free space into gaps is equally
// likely), and the whole is turned by a random angle. So the place of each function is uniform on
// the circle, and its distance to a second function's place is nearly uniform.
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

}  // namespace stab::rt
