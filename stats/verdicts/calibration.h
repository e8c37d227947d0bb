// SPDX-License-Identifier: MIT
// The analysis of an experiment in which nothing differs, so that what comparisons find is noise.
// Each benchmark is compared with itself several times, one comparison after the other, each in
// blocks of its own, as two levels of a treatment would be. No two comparisons share a trial.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stats/data/dataset.h"
#include "stats/data/notes.h"
#include "stats/data/spec.h"
#include "stats/numbers/summary.h"

namespace stab::stats {

struct Floor {
  std::string subject{};  // "" unless it is of one benchmark
  std::size_t comparisons = 0;
  std::size_t significant = 0;      // of these, those with p < alpha
  std::optional<Interval> share{};  // of significant ones: Clopper and Pearson's, (1 - alpha)
  // Comparisons stay within [1 / (1 + margin), 1 + margin] with probability 1 - alpha; see
  // noise_floor.h.
  std::optional<double> margin{};
  std::optional<Interval> interval{};  // of the margin, (1 - alpha)
};

struct Calibration {
  std::size_t blocks = 0;           // of each comparison
  std::vector<Floor> benchmarks{};  // each by its own comparisons alone
  // The noise floor of the machine: of one benchmark, whichever it is. With five or more benchmarks
  // it is that of programs like these, by the bootstrap of whole programs. With fewer, all count as
  // equally noisy and there is no interval.
  Floor any{};
  Floor suite{};  // of the mean over all benchmarks, if there are two or more
};

// It takes the columns spec.subject (none: there is one benchmark), spec.block, spec.comparison and
// the first of spec.treatments, whose first two levels are the arms. A comparison of a benchmark
// counts if it has as many complete blocks as the longest one; others are noted. The result is
// nothing if none counts. Significance is by the paired t-test on the log scale: of the blocks of a
// comparison, and of the benchmarks for the suite.
std::optional<Calibration> calibrate(const Dataset& data, const Spec& spec, Notes& notes);

// Clopper and Pearson's interval of a probability (Biometrika 1934); nothing without trials.
std::optional<Interval> binomial_interval(std::size_t successes, std::size_t trials, double alpha);

}  // namespace stab::stats
