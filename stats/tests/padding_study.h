// SPDX-License-Identifier: MIT
// Padding studies, as proposed for lld's randomized section padding: N seeds, each with M trials of
// either arm, built with the same seed, so that a seed's luck is the same in both. The seeds, not
// the trials, are the sample.
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
  std::vector<double> percent{};  // of each seed: 100 (mean after / mean before - 1)
  double mean = 0;                // of these
  Interval interval{};            // Student's, (1 - alpha)
  double p = 0;                   // of "the mean is 0", two-sided
};

// Two seeds or more, each with a trial or more in either arm, of numbers above 0; the percentages
// are not all equal.
Result<PaddingStudy> padding_study(std::span<const SeedTrials> seeds, double alpha);

}  // namespace stab::stats
