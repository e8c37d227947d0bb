// SPDX-License-Identifier: MIT
// What more load does: runs at several loads, each load analysed for itself and compared with others.
//
// What came in and what was done is counted in experiments at speedup 0 in which something arrived: a
// queue that is emptied later says nothing about its load. Intervals are Student's, of the means of runs.
//
// A point is saturated at a load if its visits per arrival are at least 2 % fewer than at the lowest
// load: Welch's test, one-sided, from the highest load down to the first that is not. Tests in a fixed
// order need no adjustment; alpha is shared among the points.
//
// A line's slopes at the loads are compared by Welch's test of means with unequal variances (Biometrika
// 1951), with the errors and degrees of freedom that the slopes have; p is adjusted over all lines of
// all points (Holm).
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

// Visits of arrival points by nanosecond, in experiments at speedup 0 that have some; 0: there are none.
double arrival_rate(const Run& run);

struct Measured {
  double value = 0;
  std::optional<Interval> interval{};  // nothing below two runs
};

struct PointAtLoad {
  std::size_t point = 0;  // of Profile::points
  Measured measured{};    // visits a second, or latency in ns
  // Throughput only.
  double per_arrival = 0;
  bool is_saturated = false;
  bool is_steady = true;  // latency only: arrivals did not outrun departures
};

struct AtLoad {
  std::size_t load = 0;  // of Profile::loads
  std::optional<Measured> had{};
  std::optional<Measured> arrivals{};  // a second
  std::vector<PointAtLoad> points{};   // by their numbers; arrival points are not among them
  Analysis analysis{};
};

struct Change {
  std::size_t point = 0;
  std::size_t line = 0;
  std::vector<std::size_t> loads{};  // of Profile::loads, and the slopes at them
  std::vector<Gain> slopes{};
  double p = 1;
  double adjusted_p = 1;
  bool differs = false;
};

struct Loads {
  std::vector<AtLoad> loads{};    // those that can be analysed, ascending
  std::vector<Change> changes{};  // lines with slopes at two loads or more, the smallest p first
};

// Of a profile that has loads. Fails where analyse() fails at each of them.
Result<Loads> analyse_loads(const Profile& profile, const Options& options);

}  // namespace stab::stats::causal
