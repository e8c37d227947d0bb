// SPDX-License-Identifier: MIT
// The paper's shuffling layer over an allocator that knows nothing of randomness: for each thread
// and class an array of N blocks. A block that the base gives changes places with a random one of
// the array, which the program gets; a block that the program frees does, too, and the base gets
// the other.
#pragma once

#include <stdint.h>

#include "runtime/base/options.h"

namespace stab::heap {

// power2: slabs of power-of-two sizes, in address order. tlsf, system: what their names say.
void open_layer(rt::Base base, uint64_t seed, uint64_t array_size);

// For fork.
void lock_tlsf();
void unlock_tlsf();

}  // namespace stab::heap
