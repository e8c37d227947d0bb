// SPDX-License-Identifier: MIT
// An experiment in which nothing differs: what its comparisons find is noise. Each benchmark is
// compared with itself several times, one comparison after the other, each in blocks of its own, as
// two levels of a treatment would be. No two comparisons share a trial.
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
  // Of one benchmark, whichever it is: the machine's noise floor. From five benchmarks on it is
  // that of programs like these, by the bootstrap of whole programs; below, all count as equally
  // noisy and there is no interval.
  Floor any{};
  Floor suite{};  // of the mean over all benchmarks, if there are two or more
};

// The columns: spec.subject (none: one benchmark), spec.block, spec.comparison, and the first of
// spec.treatments, whose first two levels are the arms. A benchmark's comparison counts if it has
// as many complete blocks as the longest one; others are noted. Nothing if none counts.
// A comparison is significant by the paired t-test of its blocks on the log scale, one of the suite
// by that of its benchmarks.
std::optional<Calibration> calibrate(const Dataset& data, const Spec& spec, Notes& notes);

// Clopper and Pearson's interval of a probability (Biometrika 1934). Nothing of no trials.
std::optional<Interval> binomial_interval(std::size_t successes, std::size_t trials, double alpha);

}  // namespace stab::stats
