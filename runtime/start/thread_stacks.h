// SPDX-License-Identifier: MIT
// How large the stacks of threads are while frames have pads.
//
// A frame takes at least 16 bytes, and one of a recursive function at most 112 more: eight times
// the size is enough for any depth that the program reached without pads. Up to 64 MB, then, stacks
// become eight times as large, and a little more for pads that are not of recursive functions: the
// default size at start, a size that the program chose when the thread is made. Memory that the
// program brings itself is left alone.
//
// Where that much address space is not to be had, or the address space is limited (`ulimit -v`),
// threads get what the program would have given them; the report counts these.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "runtime/base/outside_handlers.h"

namespace stab::rt {

// What main and threads get, if their stacks were smaller.
constexpr uint64_t stack_wanted = uint64_t{64} << 20;

// nullptr, or why threads without a size of their own have no larger stacks.
const char* raise_default_stack(const BeforeStart& proof);

// The attributes to make a thread with: `own`, or a copy in `room` that asks for a larger stack.
// `room` shares what it points to with `own`.
const pthread_attr_t* with_more_stack(const pthread_attr_t* own, pthread_attr_t& room);

// After a thread could not be made: whether it may be possible with `own`, the default size
// included.
bool retreat_to(const pthread_attr_t* own, const pthread_attr_t* used);
// It was.
void count_small_stack();
uint64_t small_stacks();

// Of a stack that this thread gets; 0: unknown.
uint64_t stack_size(const pthread_attr_t* attributes);

}  // namespace stab::rt
