// SPDX-License-Identifier: MIT
// The allocators: the option's name, the Allocator that serves the program, and how
// runtime/malloc/interface/open.cc opens it with `options` and `seed`. Users of the list say what
// becomes of its first entry, of its last one, and of those between.
#pragma once

#define STAB_ALLOCATORS(FIRST, NEXT, LAST)                                      \
  FIRST(shuffled, shuffled, open_shuffled(shuffled_settings(options, seed)))    \
  NEXT(power2, layered, open_swapped(rt::Base::power2, seed, options.heap_bag)) \
  NEXT(bitmap, bitmap, open_bitmap(seed))                                       \
  NEXT(tlsf, layered, open_swapped(rt::Base::tlsf, seed, options.heap_bag))     \
  NEXT(system, layered, open_swapped(rt::Base::system, seed, options.heap_bag)) \
  NEXT(stretched, stretched, open_stretched(seed))                              \
  LAST(layer, layer, open_layer(seed))

#define STAB_EACH_ALLOCATOR(EACH) STAB_ALLOCATORS(EACH, EACH, EACH)
