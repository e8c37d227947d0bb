// SPDX-License-Identifier: MIT
// The versions before they are measured: whether they work, how long they take, and whether their
// heaps can be random.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/error.h"
#include "client/ab/versions.h"

namespace stab::client::ab {

// Where a trial runs, and what ends it.
struct Surroundings {
  std::string directory;
  int stop_fd = -1;
  std::function<bool()> bind{};  // in the trial's process, to the CPUs that it is to have
};

struct Pace {
  std::chrono::nanoseconds round{0};    // of all versions once
  std::chrono::nanoseconds longest{0};  // trial
};

// What a trial may take at most.
std::chrono::nanoseconds most_of(const Pace& pace);

// Once, as they are: the first run of a program may be slow. Then in turns with a layer above their
// allocators, which draws the places of small blocks, and without it, in at most a fifth of the
// budget. They are measured without it where one of them does not run with it, does not say that
// its blocks are drawn, or is changed by it (layer_check.h). Sets `heap` and what belongs to it.
// Where Heap::always is wanted, changes are allowed and all else is an error.
// Then, where pads may be, they run once with pads in their stack frames, and the same holds of `pads`.
Result<Pace> first_runs(Comparison& comparison, Surroundings around,
                        std::chrono::nanoseconds budget);

}  // namespace stab::client::ab
