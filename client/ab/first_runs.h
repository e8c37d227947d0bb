// SPDX-License-Identifier: MIT
// Runs the versions before they are measured, to find out whether they work, how long they take,
// and whether their heaps can be random. Pairs of first runs, one without the layer above the
// programs' allocators and one with it, show what the layer changes and costs.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "client/ab/loaded_libraries.h"
#include "client/ab/versions.h"

namespace stab::client::ab {

// The surroundings in which trials run.
struct Surroundings {
  std::string directory;
  int stop_fd = -1;                   // a trial ends when it becomes readable
  std::function<bool()> bind{};       // is called in the trial's process, to bind it to its CPUs
  LoadedLibraries* loaded = nullptr;  // if not null, sees the libraries of the measured command
};

struct Pace {
  std::chrono::nanoseconds round{0};    // one run of each version and of the control
  std::chrono::nanoseconds longest{0};  // the longest trial
};

// The timeout of trials at this pace.
std::chrono::nanoseconds most_of(const Pace& pace);

// The pace of trials, if first runs have this pace. A first run has its CPU for itself, but another
// program may run beside a trial.
Pace pace_of_trials(const Comparison& comparison, const Pace& first);

// The number of rounds that fit into the budget after a warm-up round.
std::uint64_t rounds_within(std::chrono::nanoseconds budget, const Pace& pace);

// Runs each version once as it is, because the first run of a program may be slow, and once more if
// the budget seems too short for the fewest rounds and has room for that. If the budget allows more runs, runs the
// versions with and without a layer above their allocators, which places small blocks at random, in
// turns and for at most a fifth of the budget. The versions will be measured without the layer if
// one of them does not run with it, does not say that its blocks are random, or is changed by it
// (results/heap_layer.h). Sets `heap` and what belongs to it. If Heap::always is wanted, changes are
// allowed, and other problems with the layer are errors. Then, unless pads are unwanted, runs the
// versions once with pads in their stack frames, and sets `pads` likewise. The very first runs of
// revisions also set `foreign_libraries`.
Result<Pace> first_runs(Comparison& comparison, Surroundings around,
                        std::chrono::nanoseconds budget);

}  // namespace stab::client::ab
