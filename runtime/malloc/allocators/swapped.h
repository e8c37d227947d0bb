// SPDX-License-Identifier: MIT
// The paper's shuffling layer over a base allocator that is not random. Each thread has an array of
// N blocks for each class. To allocate, a block from the base is swapped with a random one of the
// array, which the program gets; to free, the program's block is swapped with a random one, which
// the base gets.
#pragma once

#include <stdint.h>

#include "runtime/base/options.h"

namespace stab::heap {

// The base power2 is slabs of power-of-two sizes, whose slots are taken in the order of addresses.
void open_swapped(rt::Base base, uint64_t seed, uint64_t array_size);

// For fork.
void lock_tlsf();
void unlock_tlsf();

}  // namespace stab::heap
