// SPDX-License-Identifier: MIT
// The versions before they are measured: whether they work, how long they take, and whether their
// heaps can be random.
#pragma once

#include <chrono>
#include <string>

#include "base/error.h"
#include "stabd/client/ab/versions.h"

namespace stab::client::ab {

// Where a trial runs, and what ends it.
struct Surroundings {
  std::string directory;
  int stop_fd = -1;
};

struct Pace {
  std::chrono::nanoseconds round{0};    // of all versions once
  std::chrono::nanoseconds longest{0};  // trial
};

// What a trial may take at most.
std::chrono::nanoseconds most_of(const Pace& pace);

// Twice: the first run of a program may be slow, and stands for the first trials. The second time
// they have blocks of the heap at random places, as trials would; if one of them does not run so, or
// does not say that its blocks are, all run once more without, and without they are measured: sets
// `heap` and what belongs to it. Which is an error where Heap::always is wanted.
Result<Pace> first_runs(Comparison& comparison, const Surroundings& around,
                        std::chrono::nanoseconds budget);

}  // namespace stab::client::ab
