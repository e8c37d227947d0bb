// SPDX-License-Identifier: MIT
// Estimates what the program would gain if a line were faster, with the uncertainty.
//
// The gain is the part of the time per visit that goes away: 1 - R(x) / R(0). R is the sum of
// effective durations divided by the sum of visits, over experiments of the line at speedup x. R(0)
// is from the line's own experiments at speedup 0 in the same run, so a slower run has the same
// gain. This gain holds while the line runs; for the whole program it is multiplied by the phase,
// (t_obs / s_obs) (s / T): s_obs samples of the line were seen in t_obs of its experiments at
// speedup 0, and s in all of T. At a latency point, the time per visit is replaced by the latency
// by Little's law: items inside divided by arrivals a second.
//
// The errors come from a model whose parts are estimated from the experiments (fit.h): the noise of
// each experiment, the noise of each run's R(0), and a slope of the gain that varies from run to
// run, so that a run's experiments are not treated as independent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "stats/causal/profile.h"
#include "stats/numbers/summary.h"

namespace stab::stats::causal {

// A line with less than any of these gets no estimate.
inline constexpr std::size_t least_baselines = 5;  // experiments at speedup 0
inline constexpr std::size_t least_sped_up = 10;   // at other speedups
// Visits in all experiments together. If an experiment is a run, one visit in each is enough.
inline constexpr std::uint64_t least_visits = 50;
inline constexpr std::size_t least_runs = 5;  // with fewer, parts of runs stand for runs
inline constexpr double ranked_speedup = 0.25;

struct Options {
  double alpha = 0.05;
  std::uint64_t seed = 1;    // for drawing simultaneous intervals
  std::size_t draws = 4000;  // for each line
};

// Gains are shares: 0.05 is 5 % of the time per visit.
struct Gain {
  double value = 0;
  Interval interval{};
};

// The result at one speedup. The intervals of a line's steps hold together with probability
// 1 - alpha.
struct Step {
  double speedup = 0;
  Gain gain{};
  // The gain by a straight line that also uses nearby experiments. Its interval holds with
  // probability 1 - alpha alone, but not together with the other intervals.
  Gain near{};
  std::size_t experiments = 0;
  std::uint64_t visits = 0;
};

enum class Finding {
  too_few,     // samples, experiments or visits: `too_few` says which
  helps,       // the gain at a quarter is above 0
  contention,  // that gain is below 0: the program gets slower when the line gets faster
  unclear      // that gain can't be told from 0
};

struct Line {
  std::size_t line = 0;       // index into Profile::lines
  std::uint64_t samples = 0;  // in all runs, or in the line's experiments if those are not known
  std::size_t baselines = 0;
  std::size_t sped_up = 0;
  std::size_t dropped = 0;  // experiments in runs without a visit at speedup 0
  std::size_t runs = 0;
  std::uint64_t visits = 0;
  Finding finding = Finding::too_few;
  std::string too_few{};
  double phase = 1;  // the factor of all gains
  // The members below are set unless the finding is `too_few`.
  std::vector<Step> steps{};  // by speedup
  Gain slope{};               // the gain for a speedup of 100 %, by a straight line from 0
  double slope_error = 0;     // standard error of the slope, and its degrees of freedom
  double slope_df = 0;
  double p = 1;                      // of "at_quarter is 0", by its own estimate and error
  double adjusted_p = 1;             // adjusted over all lines of all points (Holm)
  Gain at_quarter{};                 // the program's gain if the line takes a quarter less time
  bool is_quarter_of_slope = false;  // no experiments are near: it is a quarter of the slope
  double half_after_hour = 0;        // the half width of `at_quarter` after one more hour
};

// The result for one progress point.
struct PointResult {
  std::size_t point = 0;  // index into Profile::points
  std::uint64_t visits = 0;
  std::uint64_t departures = 0;  // latency only
  bool is_steady = true;  // latency only: arrivals did not outrun departures (or the reverse)
  std::optional<double> base{};  // ns per visit, or latency in ns, at speedup 0
  std::vector<Line> lines{};  // the best first: lines with an estimate by the value of at_quarter
};

struct Analysis {
  std::size_t runs = 0;
  std::size_t experiments = 0;
  double hours = 0;                   // effective
  bool runs_are_clusters = true;      // false: below least_runs, so parts of runs replace them
  bool is_end_to_end = false;         // each experiment is a whole run
  bool is_phase_known = true;         // false: no samples of whole runs, so all phases are 1
  std::vector<PointResult> points{};  // points that were visited, the most often visited first
};

// Fails without experiments, or if no experiment visited a progress point.
Result<Analysis> analyse(const Profile& profile, const Options& options);

}  // namespace stab::stats::causal
