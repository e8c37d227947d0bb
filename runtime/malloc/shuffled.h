// SPDX-License-Identifier: MIT
// The default allocator. A block is picked at random from the bag of its thread and class; what is
// freed goes into the bag. So a block is one of about 200 free slots, recently used ones and fresh
// ones, and costs one random number. A class of small objects that has grown beyond a limit takes
// its fresh slots in the order of their addresses: objects that are made together then lie
// together, and random order in memory that no cache holds costs several times the run time.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stab::heap {

struct ShuffledSettings {
  uint64_t seed = 0;
  uint64_t bag_size = 256;
  uint64_t order_from = uint64_t{1} << 20;  // bytes of a class; UINT64_MAX: never
};
void open_shuffled(const ShuffledSettings& settings);

}  // namespace stab::heap
