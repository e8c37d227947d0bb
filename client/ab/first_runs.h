// SPDX-License-Identifier: MIT
// Runs the versions before they are measured, to find out whether they work, how long they take,
// and whether their heaps can be random.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/error.h"
#include "client/ab/versions.h"

namespace stab::client::ab {

// The surroundings in which trials run.
struct Surroundings {
  std::string directory;
  int stop_fd = -1;              // a trial ends when it becomes readable
  std::function<bool()> bind{};  // is called in the trial's process, to bind it to its CPUs
};

struct Pace {
  std::chrono::nanoseconds round{0};    // one run of each version and of the control
  std::chrono::nanoseconds longest{0};  // the longest trial
};

// The timeout of trials at this pace.
std::chrono::nanoseconds most_of(const Pace& pace);

// Runs each version once as it is, because the first run of a program may be slow. If the budget
// allows more runs, runs the versions with and without a layer above their allocators, which places
// small blocks at random, in turns and for at most a fifth of the budget. The versions will be
// measured without the layer if one of them does not run with it, does not say that its blocks are
// random, or is changed by it (layer_check.h). Sets `heap` and what belongs to it. If Heap::always
// is wanted, changes are allowed, and other problems with the layer are errors. Then, unless pads
// are unwanted, runs the versions once with pads in their stack frames, and sets `pads` likewise.
Result<Pace> first_runs(Comparison& comparison, Surroundings around,
                        std::chrono::nanoseconds budget);

}  // namespace stab::client::ab
