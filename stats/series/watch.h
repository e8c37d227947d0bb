// SPDX-License-Identifier: MIT
// Watches a series that is looked at again after each new number: has its level changed? At most 5
// % of series without a change ever raise an alarm in 1,000 numbers, however often one looks,
// because one limit covers all looks together (simulated: watch_test.cc, doc/history.md).
//
// At each number all places of a change are compared: how far the level behind the place is from
// the level before it, by the t statistic of a step in a first-order autoregressive series, on the
// scale of a normal distribution. The numbers on both sides give the variance and the correlation
// of neighbours, so nothing must be known beforehand. But a change among the first numbers becomes
// part of the normal level.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace stab::stats {

struct WatchOptions {
  double alpha = 0.05;     // probability that a series without a change ever raises an alarm
  std::size_t start = 10;  // numbers that are taken as normal; at least 10
};

struct Alarm {
  std::size_t raised = 0;  // the number after which the alarm is raised
  std::size_t at = 0;      // the first number of the new level, as known when the alarm was raised
};

// The numbers must be finite. After an alarm the watch begins anew at the change.
std::vector<Alarm> watch(std::span<const double> series, const WatchOptions& options);

struct Limits {
  double low = 0;
  double high = 0;

  [[nodiscard]] bool has_both() const { return std::isfinite(low) && std::isfinite(high); }
};

// So few numbers can be left out without harm: whichever numbers lack a limit, leaving out more of
// them would select among the others.
inline constexpr std::size_t few_without_limit = 2;

// Returns the numbers that speak most against a change at the place. If the change is to more, all
// numbers before the place are at their upper limit, and all numbers behind it at their lower
// limit; if it is to less, the reverse. A number that lacks the limit that matters counts as the
// largest or the smallest of all, so that it is never evidence for the change. Returns nothing if
// no number has the limit that matters.
std::vector<double> least_favourable(std::span<const Limits> series, std::size_t place, bool more);

// Watches numbers that are known only within limits, which may be infinite. A change is an alarm
// only if it still is one with the least favourable numbers, or, if at most few_without_limit
// numbers lack a limit, without these. No change begins at a number that lacks the limit that
// matters.
std::vector<Alarm> watch_limits(std::span<const Limits> series, const WatchOptions& options);

}  // namespace stab::stats
