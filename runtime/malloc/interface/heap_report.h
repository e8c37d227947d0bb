// SPDX-License-Identifier: MIT
// What the report says of the heap.
#pragma once

#include "runtime/base/line.h"
#include "runtime/base/options.h"

namespace stab::heap {

// Adds "heap" (on or off); "allocator" if it is on; "heap_why" if it was asked for and is off;
// "other_allocator" if the program has another one than libc's.
void add_start(rt::Line& line, const rt::Options& options);
// Adds the operations, the bytes, and the bytes whose addresses were not random, if the heap is on
// and its allocator counts them.
void add_counts(rt::Line& line);

}  // namespace stab::heap
