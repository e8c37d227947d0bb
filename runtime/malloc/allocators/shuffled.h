// SPDX-License-Identifier: MIT
// The default allocator. A block is picked at random from the bag of its thread and class; what is
// freed goes into the bag. So a block is one of about 200 free slots, recently used ones and fresh
// ones, and costs one random number.
// A class of small objects that has grown beyond a limit places objects near each other that are
// allocated one after the other, because random order in memory that no cache holds costs several
// times the run time: it gives fresh slots in the order of their addresses, in each slab from a
// random one on, and of freed slots a random one of the newest few.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stab::heap {

struct ShuffledSettings {
  uint64_t seed = 0;
  uint64_t bag_size = 256;
  // Bytes of a class of slots up to 144 bytes; four times as many up to 528. UINT64_MAX: never.
  uint64_t order_from = uint64_t{256} << 10;
};
void open_shuffled(const ShuffledSettings& settings);

}  // namespace stab::heap
