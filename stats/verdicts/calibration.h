// SPDX-License-Identifier: MIT
// The analysis of an experiment in which nothing differs, so that all changes it finds are noise.
// Each benchmark is compared with itself several times, one comparison after the other, like two
// levels of a treatment. Each comparison has blocks of its own, so no two comparisons share a
// trial.
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
  std::string subject{};  // "" unless the floor is for one benchmark
  std::size_t comparisons = 0;
  std::size_t significant = 0;      // number of comparisons with p < alpha
  std::optional<Interval> share{};  // of significant ones, by Clopper and Pearson, (1 - alpha)
  // Comparisons stay within [1 / (1 + margin), 1 + margin] with probability 1 - alpha; see
  // noise_floor.h. If trials were lost, it is the largest margin that they permit, unless the spec
  // says that they were lost at random.
  std::optional<double> margin{};
  std::optional<Interval> interval{};  // the (1 - alpha) interval of the margin
  // If trials were lost: the number of comparisons that lost some, the range of margins that they
  // leave possible (absent: unbounded), and the p of "losses do not depend on the arm".
  std::size_t lost = 0;
  std::optional<double> loss_low{};
  std::optional<double> loss_high{};
  std::optional<double> loss_p{};
};

struct Calibration {
  std::size_t blocks = 0;           // number of blocks in each comparison
  std::vector<Floor> benchmarks{};  // each from its own comparisons alone
  // The noise floor of the machine for one benchmark, whichever it is. With five or more benchmarks
  // it holds for programs like these, by the bootstrap of whole programs. With fewer, all of them
  // count as equally noisy, and there is no interval.
  Floor any{};
  Floor suite{};  // for the mean over all benchmarks, if there are two or more
};

// Uses the columns spec.subject (if absent, there is one benchmark), spec.block, spec.comparison
// and the first of spec.treatments, whose first two levels are the arms. A comparison of a
// benchmark counts if it has as many complete blocks as the longest one; a note mentions the
// others. Returns nothing if no comparison counts. Significance comes from the paired t-test on the
// log scale, over the blocks of a comparison, or over the benchmarks for the suite.
//
// Slow trials are more likely to be lost, and a floor without them would be too low. So margins are
// computed twice more, with each comparison that lost trials as close to no change, and as far from
// it, as the limits of its lost trials permit. A margin grows with each comparison's distance, so
// it lies between the two, whatever the lost trials would have been.
std::optional<Calibration> calibrate(const Dataset& data, const Spec& spec, Notes& notes);

// Clopper and Pearson's interval of a probability (Biometrika 1934); absent without trials.
std::optional<Interval> binomial_interval(std::size_t successes, std::size_t trials, double alpha);

}  // namespace stab::stats
