// SPDX-License-Identifier: MIT
// A/A calibration: which changes can this machine not resolve? Two groups of trials of the same
// program are compared as if they were two variants, so every difference is noise. The noise floor
// is the smallest margin within which such a comparison stays with probability 1 - alpha: its ratio
// lies in [1 / (1 + margin), 1 + margin].
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "stats/numbers/summary.h"

namespace stab::stats {

// The mean logarithms of one program's groups of trials, in the order in which they were run. The
// groups have the size that is calibrated.
struct AaProgram {
  std::vector<double> groups{};
};

struct NoiseFloor {
  double margin = 0;
  std::optional<Interval> interval{};  // of the margin, (1 - alpha)
  std::size_t comparisons = 0;
  std::size_t programs = 0;
};

// Compares disjoint pairs: the first group of a program with its second, the third with the fourth,
// so that no two pairs share a trial. The margin is the ceil((1 - alpha)(m + 1))-th smallest |log
// ratio| of m pairs: a new comparison that is exchangeable with these stays within it with
// probability 1 - alpha or more (Vovk, Gammerman, Shafer: Algorithmic learning in a random world,
// 2005). So it needs 1 / alpha - 1 pairs, of one program or of programs that are equally noisy.
Result<NoiseFloor> noise_floor_disjoint(std::span<const AaProgram> programs, double alpha);

// The groups of a program that are compared: each with each, or only disjoint pairs. Groups that
// were run at different times are comparable only in the pairs that were run together.
enum class Pairs { all, disjoint };

// Compares pairs of groups of each program; all programs have the same weight. Pairs of one program
// depend on each other, so the interval draws whole programs (the cluster bootstrap; Field and
// Welsh, JRSS B 2007). `margin` is for a program like these, drawn at random; the upper end of the
// interval allows for their small number. It needs five or more programs of four or more groups.
Result<NoiseFloor> noise_floor_clustered(std::span<const AaProgram> programs, double alpha,
                                         std::uint64_t seed, Pairs pairs = Pairs::all,
                                         std::size_t draws = 2'000);

}  // namespace stab::stats
