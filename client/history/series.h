// SPDX-License-Identifier: MIT
// What several experiments measured of one benchmark, as series in the order of time with their change
// points. A number of a series is an experiment's mean of a cell: the experiment, not the trial, is
// what can change places with another where nothing changed (doc/decisions/0023-history.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/model.h"
#include "stats/series/change_points.h"
#include "stats/series/watch.h"

namespace stab::client::history {

using Levels = std::map<std::string, std::string>;  // treatment -> level

struct Mean {
  Levels levels{};
  std::size_t n = 0;  // trials
  double mean = 0;    // finite
  std::optional<double> low{};
  std::optional<double> high{};
};

struct Experiment {
  std::int64_t id = 0;
  std::string name{};
  std::int64_t at_ns = 0;  // when its first trial began
  std::string machine{};
  std::vector<std::string> settings{};
  report::Source source{};  // what was checked out when it was submitted
  std::string response{};
  stats::Unit unit = stats::Unit::number;
  bool log_scale = false;
  bool higher_is_better = false;
  bool simulated = false;
  bool facts = false;         // its numbers are those of builds, which no trial changes
  bool all_moved = false;     // the functions of every trial's program were placed at random
  std::vector<Mean> means{};  // of the benchmark; empty: it was not measured
  std::vector<std::string> others{};  // benchmarks that were
};
Experiment experiment_in(const report::Document& document, const std::string& benchmark);

struct Point {
  std::size_t experiment = 0;  // of History::experiments
  Mean mean{};
};

struct Change {
  std::size_t at = 0;             // of Series::points: the first one behind it
  double difference = 0;          // of the means of the parts that it divides
  std::optional<double> ratio{};  // of them; none unless all numbers are above 0
  std::optional<double> p{};      // none: both are facts
};

struct Series {
  Levels levels{};
  std::vector<Point> points{};
  bool exact = false;  // of facts: each difference is a change, and there is no test
  bool tested = false;
  std::vector<Change> changes{};
  bool watched = false;  // long enough for the watch, which holds however often one asks
  std::vector<stats::Alarm> alarms{};
};

struct LeftOut {
  std::int64_t id = 0;
  std::string name{};
  std::string reason{};
};

struct Options {
  double alpha = 0.05;  // that any series without a change gets one
  std::uint64_t seed = 1;
};

struct History {
  std::string benchmark{};
  std::vector<Experiment> experiments{};            // comparable ones, by time
  std::vector<std::vector<std::string>> remarks{};  // of each: what is other than before
  std::vector<Series> series{};
  std::vector<LeftOut> left_out{};
  std::size_t not_looked_at = 0;  // earlier ones, of which nothing is known
  Options options{};
  double alpha_of_each = 0;      // of each series that is long enough
  std::size_t permutations = 0;  // of each test, at most; 0: none was tested
  bool too_many = false;  // long enough, and not tested: they would take too many permutations
};

// Of experiments that measured the benchmark, one at least. Those that are not comparable with the
// latest one are left out, with the reason.
History make_history(const std::string& benchmark, std::vector<Experiment> experiments,
                     const Options& options);

}  // namespace stab::client::history
