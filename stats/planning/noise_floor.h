// SPDX-License-Identifier: MIT
// A/A calibration: what can this machine not resolve? Two groups of trials of the same program are
// compared as if they were two variants; every difference is noise. The noise floor is the smallest
// margin within which such a comparison stays with probability 1 - alpha: its ratio lies in
// [1 / (1 + margin), 1 + margin].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "stats/numbers/summary.h"

namespace stab::stats {

// One program: the mean logarithms of groups of trials of the size that is to be calibrated, in the
// order in which they were run.
struct AaProgram {
  std::vector<double> groups{};
};

struct NoiseFloor {
  double margin = 0;
  std::optional<Interval> interval{};  // of the margin, (1 - alpha)
  std::size_t comparisons = 0;
  std::size_t programs = 0;
};

// From disjoint pairs: the first group of a program with its second, the third with the fourth. No
// two pairs share a trial. Of m pairs the ceil((1 - alpha)(m + 1))-th smallest |log ratio|: a new
// comparison, exchangeable with these, stays within it with probability 1 - alpha at least (Vovk,
// Gammerman, Shafer: Algorithmic learning in a random world, 2005). So it needs 1 / alpha - 1 pairs
// or more. For one program, or if programs are equally noisy.
Result<NoiseFloor> noise_floor_disjoint(std::span<const AaProgram> programs, double alpha);

// Which groups of a program are compared: each with each, or only those of disjoint pairs. Groups
// that were run at different times are only comparable in the pairs that were run together.
enum class Pairs { all, disjoint };

// From pairs of groups of each program, every program with the same weight. Pairs that share a
// group, and pairs of one program, depend on each other, so only whole programs are drawn for the
// interval (the cluster bootstrap; Field and Welsh, JRSS B 2007). `margin` is for a program like
// these, drawn at random; the interval's upper end covers that these are few. For five programs or
// more, of four groups or more.
Result<NoiseFloor> noise_floor_clustered(std::span<const AaProgram> programs, double alpha,
                                         std::uint64_t seed, Pairs pairs = Pairs::all,
                                         std::size_t draws = 2'000);

}  // namespace stab::stats
