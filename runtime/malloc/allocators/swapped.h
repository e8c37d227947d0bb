// SPDX-License-Identifier: MIT
// The paper's shuffling layer over a base allocator that is not random. Each thread has an array of
// N blocks for each class. To allocate, a block from the base is swapped with a random one in the
// array, which the program gets. To free, the program's block is swapped with a random one, which
// goes back to the base.
#pragma once

#include <stdint.h>

#include "runtime/base/options.h"

namespace stab::heap {

// The base power2 has slabs of power-of-two sizes, whose slots are taken in the order of addresses.
void open_swapped(rt::Base base, uint64_t seed, uint64_t array_size);

// For fork.
void lock_tlsf();
void unlock_tlsf();

}  // namespace stab::heap
