// SPDX-License-Identifier: MIT
// What causal profiling saw, as values: runs of one program, the experiments in each. In an experiment
// one line was made virtually faster, or, with a speedup of 0, only watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stab::stats::causal {

enum class PointKind { throughput, latency };

struct Point {
  std::string name{};
  PointKind kind = PointKind::throughput;
  bool is_arrival = false;  // where work comes in; coz has none
  bool operator==(const Point&) const = default;
};

// Of one point in one experiment.
struct Visits {
  std::size_t point = 0;         // of Profile::points
  std::uint64_t count = 0;       // throughput: visits; latency: arrivals
  std::uint64_t departures = 0;  // latency only, as what follows
  double inside = 0;             // how many had arrived and not left: the mean of start and end
  bool operator==(const Visits&) const = default;
};

struct Experiment {
  std::size_t line = 0;            // of Profile::lines
  unsigned speedup = 0;            // permille
  std::uint64_t effective_ns = 0;  // as it passed, less the pauses
  std::uint64_t paused_ns = 0;     // 0 also where it is not known
  std::uint64_t line_samples = 0;  // of the chosen line, in it
  std::uint64_t arrivals = 0;      // visits of all arrival points
  std::vector<Visits> visits{};
  bool operator==(const Experiment&) const = default;
};

struct LineSamples {
  std::size_t line = 0;
  std::uint64_t count = 0;
  bool operator==(const LineSamples&) const = default;
};

// What more work coming in was made of arrivals: each visit of an arrival point made its thread faster.
struct Load {
  double asked = 1;  // times the arrivals that there are without it; 0: a time was asked for
  std::uint64_t speedup_ns = 0;
  bool operator==(const Load&) const = default;
};

// How a run was sampled.
struct Sampling {
  std::uint64_t samples = 0;
  std::uint64_t outside = 0;        // of the scope
  std::uint64_t unwound_short = 0;  // whose callers could not be found
  std::uint64_t sampled_ns = 0;     // CPU time from sample to sample, summed up
  std::uint64_t lost = 0;           // experiments for which there was no room
  bool is_by_timer = false;         // perf events were not permitted
  bool is_of_user_code = false;     // they were permitted for that alone
  bool operator==(const Sampling&) const = default;
};

struct Run {
  std::uint64_t started_ns = 0;    // of any clock; 0: not known
  std::uint64_t effective_ns = 0;  // the whole run, less all pauses (coz: with them); 0: not known
  std::size_t load = 0;            // of Profile::loads, if that has any
  std::size_t block = 0;           // of runs that are alike in some way: a block's, or a turn's
  std::vector<Experiment> experiments{};  // in the order of time
  std::vector<LineSamples> samples{};     // in the whole run, a line at most once
  std::optional<Sampling> sampling{};     // none: not known
  bool operator==(const Run&) const = default;
};

// Invariant: indices of lines, points and loads are within their lists, speedups at most 1000, durations
// below 2^60.
struct Profile {
  std::vector<std::string> lines{};  // "FILE:LINE", each once
  std::vector<Point> points{};       // each once
  std::vector<Run> runs{};
  std::vector<Load>
      loads{};           // ascending; none: arrivals are as they come, or made faster by the user
  double base_rate = 0;  // of arrivals in one more run, at no load; 0: not known
  std::size_t left_out = 0;  // experiments whose durations were below 0: none of the runs has them
  bool operator==(const Profile&) const = default;
};

}  // namespace stab::stats::causal
