// SPDX-License-Identifier: MIT
// What the report says of the heap.
#pragma once

#include "runtime/base/line.h"
#include "runtime/base/options.h"

namespace stab::heap {

// "heap": on or off, "allocator" if it is on, "heap_why" if it should be and is not,
// "other_allocator" if that is why.
void add_start(rt::Line& line, const rt::Options& options);
// Operations and bytes, and the bytes whose places were not random, if the heap is on and counts.
void add_counts(rt::Line& line);

}  // namespace stab::heap
