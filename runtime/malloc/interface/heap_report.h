// SPDX-License-Identifier: MIT
// What the report says of the heap.
#pragma once

#include "runtime/base/line.h"
#include "runtime/base/options.h"

namespace stab::heap {

// Adds "heap" (on or off); "allocator" if it is on; "heap_why" if it was asked for and is off, and
// "other_allocator" if another allocator is the reason.
void add_start(rt::Line& line, const rt::Options& options);
// Adds the operations, the bytes, and the bytes whose addresses were not random, if the heap is on
// and its allocator counts them.
void add_counts(rt::Line& line);

}  // namespace stab::heap
