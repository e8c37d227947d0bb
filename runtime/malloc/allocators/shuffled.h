// SPDX-License-Identifier: MIT
// The default allocator. A block is drawn at random from the bag of its thread and class, and a
// freed slot goes back into the bag. So a block is one of about 200 free slots, both fresh and
// recently used ones, and costs one random number.
//
// A class of small objects that has grown beyond a limit keeps objects near each other if they are
// allocated one after the other: in memory that exceeds the caches, random order can multiply the
// run time. The class hands out the fresh slots of each slab by ascending address, starting at a
// random one, and draws freed slots from the newest few.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stab::heap {

struct ShuffledSettings {
  uint64_t seed = 0;
  uint64_t bag_size = 256;
  // The limit in bytes for classes of slots up to 144 bytes. For slots up to 528 bytes the limit is
  // four times as large; larger slots have no limit. UINT64_MAX: no class has a limit.
  uint64_t order_from = uint64_t{256} << 10;
};
void open_shuffled(const ShuffledSettings& settings);

}  // namespace stab::heap
