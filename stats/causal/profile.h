// SPDX-License-Identifier: MIT
// The data of causal profiling, as values: runs of one program, with the experiments in each. In an
// experiment one line was made virtually faster, or, with a speedup of 0, only watched.
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
  bool is_arrival = false;  // work comes in here; coz has no such points
  bool operator==(const Point&) const = default;
};

// The visits of one point in one experiment.
struct Visits {
  std::size_t point = 0;         // index into Profile::points
  std::uint64_t count = 0;       // throughput: visits; latency: arrivals
  std::uint64_t departures = 0;  // latency only, like `inside`
  double inside = 0;             // items that had arrived and not left: the mean of start and end
  bool operator==(const Visits&) const = default;
};

struct Experiment {
  std::size_t line = 0;            // index into Profile::lines
  unsigned speedup = 0;            // permille
  std::uint64_t effective_ns = 0;  // elapsed time minus the pauses
  std::uint64_t paused_ns = 0;     // 0 also if it is not known
  std::uint64_t line_samples = 0;  // samples of the chosen line during the experiment
  std::uint64_t arrivals = 0;      // visits of all arrival points
  std::vector<Visits> visits{};
  bool operator==(const Experiment&) const = default;
};

struct LineSamples {
  std::size_t line = 0;
  std::uint64_t count = 0;
  bool operator==(const LineSamples&) const = default;
};

// A higher load, made by speeding up arrivals: each visit of an arrival point made its thread
// faster.
struct Load {
  double asked = 1;  // as a multiple of the arrivals without it; 0: a time was asked for
  std::uint64_t speedup_ns = 0;
  bool operator==(const Load&) const = default;
};

// The sampling of a run.
struct Sampling {
  std::uint64_t samples = 0;
  std::uint64_t outside = 0;        // samples outside of the scope
  std::uint64_t unwound_short = 0;  // samples whose callers could not be found
  std::uint64_t sampled_ns = 0;     // CPU time from sample to sample, summed up
  std::uint64_t lost = 0;           // experiments that were lost because there was no room
  bool is_by_timer = false;         // perf events were not permitted
  bool is_of_user_code = false;     // perf events were permitted only for user code
  bool operator==(const Sampling&) const = default;
};

struct Run {
  std::uint64_t started_ns = 0;    // by any clock; 0: not known
  std::uint64_t effective_ns = 0;  // the whole run minus all pauses (coz: with them); 0: not known
  std::size_t load = 0;            // index into Profile::loads, if that has any
  std::size_t block = 0;           // runs of one block (or turn) are alike in some way
  std::vector<Experiment> experiments{};  // in the order of time
  std::vector<LineSamples> samples{};     // in the whole run, each line at most once
  std::optional<Sampling> sampling{};     // absent: not known
  bool operator==(const Run&) const = default;
};

// Invariant: indices of lines, points and loads are within their lists, speedups are at most 1000,
// and durations are below 2^60.
struct Profile {
  std::vector<std::string> lines{};  // "FILE:LINE", each once
  std::vector<Point> points{};       // each once
  std::vector<Run> runs{};
  std::vector<Load>
      loads{};           // ascending; empty: arrivals are as they come, or made faster by the user
  double base_rate = 0;  // arrivals in one more run, without a load; 0: not known
  std::size_t left_out = 0;  // experiments with a duration below 0, which are in none of the runs
  bool operator==(const Profile&) const = default;
};

}  // namespace stab::stats::causal
