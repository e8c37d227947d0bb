// SPDX-License-Identifier: MIT
// Padding studies, as proposed for lld's randomized section padding: each of N seeds has M trials
// of either arm. Both arms are built with the same seed, so that its luck is the same in both. The
// seeds are the sample, not the trials.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "stats/numbers/summary.h"

namespace stab::stats {

struct SeedTrials {
  std::vector<double> before{};
  std::vector<double> after{};
};

struct PaddingStudy {
  std::vector<double> percent{};  // for each seed: 100 (mean after / mean before - 1)
  double mean = 0;                // of the percentages
  Interval interval{};            // Student's, (1 - alpha)
  double p = 0;                   // of "the mean is 0", two-sided
};

// Needs two or more seeds with a trial in either arm. All numbers must be above 0, and the
// percentages must not all be equal.
Result<PaddingStudy> padding_study(std::span<const SeedTrials> seeds, double alpha);

}  // namespace stab::stats
