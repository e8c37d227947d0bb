// SPDX-License-Identifier: MIT
// The history of one benchmark over several experiments. A history has series in the order of time,
// with their change points. Each number of a series is an experiment's mean of a cell, because a
// permutation may exchange experiments, but not trials, as long as nothing changes
// (doc/decisions/0023-history.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/model.h"
#include "stats/data/spec.h"
#include "stats/series/watch.h"

namespace stab::results::history {

using Levels = std::map<std::string, std::string>;  // treatment -> level

struct Mean {
  Levels levels{};
  std::size_t n = 0;  // trials
  double mean = 0;    // finite
  std::optional<double> low{};
  std::optional<double> high{};
  std::size_t missing = 0;  // trials without a number
  // The lowest and the highest mean that the missing trials permit; absent: unbounded, or no trial
  // is missing.
  std::optional<double> loss_low{};
  std::optional<double> loss_high{};
  // The interval of the mean of all trials, wherever in that range it lies.
  std::optional<double> loss_interval_low{};
  std::optional<double> loss_interval_high{};
};

struct Experiment {
  std::int64_t id = 0;
  std::string name{};
  std::int64_t at_ns = 0;  // when its first trial began
  std::string machine{};   // one line
  std::string hardware{};  // the same under each kernel and system
  // The nodes of a cluster that ran it, and their hardware, as in report::Document.
  std::vector<std::string> nodes{};
  std::string pool{};
  std::vector<std::string> settings{};
  std::string versions{};   // of stabd and of the compilers; "": not known
  report::Source source{};  // the commit and branch that were checked out at its submission
  std::string response{};
  stats::Unit unit = stats::Unit::number;
  bool log_scale = false;
  bool higher_is_better = false;
  bool simulated = false;
  std::uint64_t trials = 0;   // that were run
  std::uint64_t missing = 0;  // those of them that have no result
  bool facts = false;         // its numbers describe builds, so they are the same in all trials
  bool all_moved = false;     // every trial's program had its functions placed at random
  std::vector<Mean> means{};  // of the benchmark; empty: it was not measured
  std::vector<std::string> others{};  // the other benchmarks that were measured
};
Experiment experiment_in(const report::Document& document, const std::string& benchmark);

struct Point {
  std::size_t experiment = 0;  // index into History::experiments
  Mean mean{};
};

struct Change {
  std::size_t at = 0;             // index into Series::points: the first point after the change
  double difference = 0;          // the mean of the part after it minus that of the part before
  std::optional<double> ratio{};  // of these means; absent if a number is not above 0
  std::optional<double> p{};      // absent in exact series
  bool stands = true;             // false: missing trials may be the reason, so it has no verdict
  bool other_nodes = false;  // the nodes may be the reason (may_be_nodes), so it has no verdict
};

struct Series {
  Levels levels{};
  std::vector<Point> points{};
  bool exact = false;  // all numbers are facts: each difference is a change, without a test
  bool tested = false;
  std::vector<Change> changes{};
  bool watched = false;  // long enough for alarms, which are valid however often the user looks
  std::vector<stats::Alarm> alarms{};
};

struct LeftOut {
  std::int64_t id = 0;
  std::string name{};
  std::string reason{};
};

struct Options {
  double alpha = 0.05;  // the probability that any series without a change gets one
  std::uint64_t seed = 1;
  bool pool = false;  // nodes of a cluster with the same hardware count as one machine
};

struct History {
  std::string benchmark{};
  std::vector<Experiment> experiments{};            // comparable ones, by time
  std::vector<std::vector<std::string>> remarks{};  // how each differs from the one before it
  std::vector<Series> series{};
  std::vector<LeftOut> left_out{};
  std::size_t not_looked_at = 0;  // the number of earlier experiments that were not examined
  Options options{};
  double alpha_of_each = 0;      // for each series that is long enough
  std::size_t permutations = 0;  // of each test, at most; 0: no series was tested
  bool too_many = false;         // the tests need too many permutations, so no series was tested
};

// The alarms that the series' points raise, each of which lies within the limits of its missing
// trials.
std::vector<stats::Alarm> alarms_of(const Series& series, const stats::WatchOptions& options);

// Whether a change between the points [from, at) and [at, to) may come from the nodes: each side has
// a node that the other side lacks, or more than half of the work moved from some nodes to others.
bool may_be_nodes(const std::vector<Experiment>& experiments, const Series& series,
                  std::size_t from, std::size_t at, std::size_t to);

// Needs at least one experiment, and all of them must have measured the benchmark. Leaves out
// experiments that are not comparable with the latest one, and says why.
History make_history(const std::string& benchmark, std::vector<Experiment> experiments,
                     const Options& options);

}  // namespace stab::results::history
