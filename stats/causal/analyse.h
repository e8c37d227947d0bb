// SPDX-License-Identifier: MIT
// What the program would gain if a line were faster, with its uncertainty.
//
// The gain is the part of the time per visit that goes away: 1 - R(x) / R(0), where R is the sum of
// effective durations by the sum of visits, over experiments of the line at speedup x, and R(0) is
// that of the line's own experiments at speedup 0 in the same run: what makes one run slower than
// another leaves the gain as it is. It holds while the line runs; for the whole program it is times
// the phase, (t_obs / s_obs) (s / T): s_obs samples of the line were seen in t_obs of its experiments
// at speedup 0, and s in all of T. At a latency point time per visit is in its place the latency by
// Little's law: items inside by arrivals a second.
//
// The errors are of a model whose parts are estimated from the experiments (fit.h): noise of each
// experiment, the noise of each run's R(0), and a slope of the gain that varies from run to run, so
// that experiments of a run are not taken for independent.
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

// Below these nothing is said of a line.
inline constexpr std::size_t least_baselines = 5;  // experiments at speedup 0
inline constexpr std::size_t least_sped_up = 10;   // at others
// In all of them, unless an experiment is a run: then a visit in each is enough.
inline constexpr std::uint64_t least_visits = 50;
inline constexpr std::size_t least_runs = 5;  // fewer: parts of runs stand for runs
inline constexpr double ranked_speedup = 0.25;

struct Options {
  double alpha = 0.05;
  std::uint64_t seed = 1;    // of the draws behind simultaneous intervals
  std::size_t draws = 4000;  // of each line
};

// Shares: 0.05 is 5 % of the time per visit.
struct Gain {
  double value = 0;
  Interval interval{};
};

// At one speedup. The intervals of a line hold all at once, (1 - alpha).
struct Step {
  double speedup = 0;
  Gain gain{};
  // From the experiments near it, too, by a straight line through them. Its interval holds by itself.
  Gain near{};
  std::size_t experiments = 0;
  std::uint64_t visits = 0;
};

enum class Finding {
  too_few,     // samples, experiments or visits: `too_few` has words
  helps,       // its gain at a quarter is above 0
  contention,  // it is below 0: the program gets slower when the line gets faster
  unclear      // it can't be told from 0
};

struct Line {
  std::size_t line = 0;       // of Profile::lines
  std::uint64_t samples = 0;  // in all runs, or in its experiments where those are not known
  std::size_t baselines = 0;
  std::size_t sped_up = 0;
  std::size_t dropped = 0;  // in runs without a visit at speedup 0
  std::size_t runs = 0;
  std::uint64_t visits = 0;
  Finding finding = Finding::too_few;
  std::string too_few{};
  double phase = 1;  // the factor of all gains
  // What follows is there unless there are too few.
  std::vector<Step> steps{};  // by speedup
  Gain slope{};               // what a speedup of 100 % would give by a straight line from 0
  double slope_error = 0;     // its standard error, and how well that is known
  double slope_df = 0;
  double p = 1;                      // that at_quarter is 0, by its own estimate and error
  double adjusted_p = 1;             // over all lines of all points (Holm)
  Gain at_quarter{};                 // the program's, if the line takes a quarter less time
  bool is_quarter_of_slope = false;  // no experiments near that: a quarter of the slope
  double half_after_hour = 0;        // the half width of `at_quarter` after one more hour
};

// Of one progress point.
struct PointResult {
  std::size_t point = 0;  // of Profile::points
  std::uint64_t visits = 0;
  std::uint64_t departures = 0;  // latency only
  bool is_steady = true;  // latency only: arrivals did not outrun departures (or the reverse)
  std::optional<double> base{};  // ns per visit, or latency in ns, at speedup 0
  std::vector<Line> lines{};     // the best first: those that say something by at_quarter's value
};

struct Analysis {
  std::size_t runs = 0;
  std::size_t experiments = 0;
  double hours = 0;               // effective
  bool runs_are_clusters = true;  // false: fewer than least_runs, and parts of runs in their place
  bool is_end_to_end = false;     // a run is an experiment
  bool is_phase_known = true;     // false: no samples of whole runs, all phases are 1
  std::vector<PointResult> points{};  // those that were visited, the most often visited first
};

// Fails if there is no experiment, or none in which a progress point was visited.
Result<Analysis> analyse(const Profile& profile, const Options& options);

}  // namespace stab::stats::causal
