// SPDX-License-Identifier: MIT
// Tests and estimates about variances: which share of the variance a term has, whether groups vary
// equally, whether the variance changes between cells, and how much of it lies between groups.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "stats/numbers/summary.h"

namespace stab::stats {

// The size of a term's effect in an analysis of variance, as a share of the variance.
struct Shares {
  // Partial eta squared: the term's share of the sum of its own and the error's squares. It grows
  // with the term's degrees of freedom even if nothing differs, so it describes only the sample.
  double eta2 = 0;
  // Partial omega squared, an estimate of the population's share (Hays, 1963; Keren and Lewis,
  // Educational and Psychological Measurement 1979); never below 0.
  double omega2 = 0;
  // The (1 - 2 alpha) interval of the population's share, lambda / (lambda + df1 + df2 + 1), by the
  // noncentral F distribution (Steiger, Psychological Methods 2004). It contains omega2, and it
  // excludes 0 exactly if the F test does. Absent if the distribution cannot be computed.
  std::optional<Interval> interval{};
};

// The shares of a term with this F. Returns nothing unless f >= 0, df1 > 0, df2 > 0, and all are
// finite.
std::optional<Shares> shares(double f, double df1, double df2, double alpha);

struct VarianceTest {
  double f = 0;
  double df1 = 0;
  double df2 = 0;
  double p = 0;
};

// Tests whether groups vary equally, by a one-way analysis of variance of distances from each
// group's median. Brown and Forsythe (JASA 1974) take distances from the median, because with
// distances from the mean (Levene, 1960) the error rate is too high for skewed numbers. The test
// needs two or more groups of two or more numbers, and a group whose distances differ.
Result<VarianceTest> brown_forsythe(std::span<const std::vector<double>> groups);

// Tests whether the variance changes between cells. The weights of cells sum to 0, as for means.
// They are applied to log variances, so two cells give a ratio, and an interaction gives a ratio of
// ratios.
//
// The test compares distances from each cell's median. Such tests keep their level for any shape of
// the noise (Brown and Forsythe, JASA 1974; within pairs: Grambsch, Biometrika 1994), unlike tests
// of squares. `ratio` is the ratio of squared mean distances, which is the ratio of variances if
// the cells differ in scale only.
//
// Cells are divided by the scales that fit them best if the null hypothesis holds; p is from
// Student's t of the weighted mean distances, with the smallest cell's n - 1 degrees of freedom.
// The interval is on the log scale. Its error makes this t the t of the difference (Miettinen,
// American Journal of Epidemiology 1976), so p < alpha exactly if the interval excludes 1.

// The change that a treatment makes to the variance of trials within a cell.
struct Spread {
  double ratio = 1;  // variance at `level` / variance at `baseline`
  double low = 0;    // the (1 - alpha) interval
  double high = 0;
  double p = 1;
};

// Fewer numbers have no p and no interval. With this many or more, the level holds for all shapes
// of noise that were simulated (doc/statistics.md).
constexpr std::size_t least_for_spread = 6;

// Takes the numbers of each cell, one for each block, in the same order; the cells of a block may
// depend on each other. Returns nothing below `least_for_spread` blocks, or if a cell with a weight
// does not vary.
std::optional<Spread> spread_within_blocks(std::span<const std::vector<double>> cells,
                                           std::span<const double> weights, double alpha);

// A cell as comparisons of variances see it.
struct CellSpread {
  std::size_t n = 0;
  double ss = 0;            // sum of squared distances from the mean
  double log_variance = 0;  // without a constant that all cells share
  double error = 0;  // variance of the mean of the distances, if each is divided by that mean
};
// Returns nothing if there are fewer than `least_for_spread` numbers, or if they do not vary.
std::optional<CellSpread> cell_spread(std::span<const double> values);

// Compares cells whose numbers are all independent. Returns nothing if a cell with a weight is
// absent.
std::optional<Spread> spread_between_cells(std::span<const std::optional<CellSpread>> cells,
                                           std::span<const double> weights, double alpha);

// Variance components of groups (layouts, for example) that are drawn at random within cells:
// y = cell + group + error. Estimates how much of the variance is between the groups of a cell, and
// how much is within groups, with (1 - alpha) intervals. Groups may be of unequal size.
//
// If r = between / within is known, the groups' means have variances in known proportions. So their
// weighted sum of squares about each cell's weighted mean, divided by that within groups, is
// exactly F (Wald, Annals of Mathematical Statistics 1940). It falls as r grows, so it is solved
// for r:
// - At the upper and lower points of F it gives the exact interval of r. With that r, the group
//   means give a variance within, by the same points of chi-squared; its product with r gives the
//   interval of `between` (Williams, Biometrika 1962, and Tukey for equal sizes).
// - At F = 1 it gives the estimate (Paule and Mandel, Journal of Research of the NBS 1982), which
//   therefore lies within the interval. With equal sizes it is that of the analysis of variance.
// - At r = 0 it is the F test, which gives p.
// The interval of `within` is by chi-squared.
struct ComponentIntervals {
  double between = 0;  // an estimate below 0 becomes 0, and so do the interval's ends
  Interval between_interval{};
  double within = 0;
  Interval within_interval{};
  double share = 0;  // between / (between + within)
  double p = 0;      // p of "groups do not matter" (F test)
};

// `cells` has a row of groups for each cell. At least one cell must have two groups, at least one
// group must have two numbers, and no group may be empty.
Result<ComponentIntervals> variance_components(std::span<const std::vector<Moments>> cells,
                                               double alpha);

}  // namespace stab::stats
