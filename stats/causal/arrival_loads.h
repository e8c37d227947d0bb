// SPDX-License-Identifier: MIT
// Shows the effect of more load: analyses the runs at each of several loads, and compares loads
// with each other.
//
// Arrivals and visits are counted in experiments at speedup 0 in which something arrived, because a
// queue that is emptied later says nothing about its load. Intervals are Student's intervals of the
// means of runs.
//
// A point is saturated at a load if its visits per arrival are at least 2 % fewer than at the
// lowest load. This is tested by Welch's one-sided test, from the highest load down to the first
// that is not saturated. Tests in a fixed order need no adjustment; alpha is shared among the
// points.
//
// A line's slopes at the loads are compared by Welch's test of means with unequal variances
// (Biometrika 1951), with the errors and degrees of freedom of the slopes. p is adjusted over all
// lines of all points (Holm).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/error.h"
#include "stats/causal/analyse.h"
#include "stats/causal/profile.h"
#include "stats/numbers/summary.h"

namespace stab::stats::causal {

inline constexpr double saturated_share = 0.98;

// The visits of arrival points per nanosecond in experiments at speedup 0 that have such visits, or
// 0 if no experiment has them.
double arrival_rate(const Run& run);

struct Measured {
  double value = 0;
  std::optional<Interval> interval{};  // absent for fewer than two runs
};

struct PointAtLoad {
  std::size_t point = 0;  // index into Profile::points
  Measured measured{};    // visits a second, or latency in ns
  // Throughput only.
  double per_arrival = 0;
  bool is_saturated = false;
  bool is_steady = true;  // latency only: arrivals did not outrun departures
};

struct AtLoad {
  std::size_t load = 0;  // index into Profile::loads
  std::optional<Measured> had{};
  std::optional<Measured> arrivals{};  // per second
  std::vector<PointAtLoad> points{};   // by index, without arrival points
  Analysis analysis{};
};

struct Change {
  std::size_t point = 0;
  std::size_t line = 0;
  std::vector<std::size_t> loads{};  // indices into Profile::loads; `slopes` has the slopes at them
  std::vector<Gain> slopes{};
  double p = 1;
  double adjusted_p = 1;
  bool differs = false;
};

struct Loads {
  std::vector<AtLoad> loads{};    // loads that can be analysed, ascending
  std::vector<Change> changes{};  // lines with slopes at two loads or more, the smallest p first
};

// Analyses a profile that has loads. Fails if analyse() fails at each load.
Result<Loads> analyse_loads(const Profile& profile, const Options& options);

// The functions below compute the load that runs really had: the ratio of their mean rate of
// arrivals to that of runs in which arrivals gain nothing. Intervals include the error of both
// rates.

// Compares runs at `load` with runs at the load at which arrivals gain nothing, or without such
// runs with the single run from which Profile::base_rate comes. Returns nothing if both are
// missing.
std::optional<Measured> had_of(const Profile& profile, std::size_t load, double alpha);

// Compares runs at `load` with runs at `base`, both from Profile::loads. Returns nothing if
// something arrived in no run of one of the two loads. The interval is by the delta method: blocks
// are its clusters, because runs of one block share the differences between blocks. It is Student's
// interval, with the number of blocks of the load that has fewer of them; it is missing below two
// blocks. The ratio of the base to itself is 1.
std::optional<Measured> had_by(const Profile& profile, std::size_t load, std::size_t base,
                               double alpha);

// Compares runs at `load` with one run that has this rate, which is above 0. One run can't tell how
// far it is from others, so its rate is assumed to vary, as a share, as the rate at `load` does
// from block to block.
std::optional<Measured> had_by_one(const Profile& profile, std::size_t load, double base_rate,
                                   double alpha);

}  // namespace stab::stats::causal
