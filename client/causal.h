// SPDX-License-Identifier: MIT
// 'stabctl causal': finds the line that is worth making faster, from existing profiles or by
// running a program. 'stabctl causal verify': compares the gain that a causal profile predicted
// with the gain of the actual change.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "causal/session.h"
#include "client/verbs.h"
#include "stats/causal/analyse.h"
#include "stats/causal/profile.h"
#include "stats/verdicts/analysis.h"

namespace stab::client::causal {

struct CausalOptions {
  std::vector<std::string> read{};     // files in coz's format; all are runs of one program
  std::vector<std::string> command{};  // if `read` is empty: the program and its arguments
  std::string coz{};                   // file for all runs in coz's format; "": none, "-": stdout
  std::string output{};                // file for the answer; "": stdout
  double alpha = 0.05;
  std::uint64_t seed = 1;
  bool json = false;
  // The following options are for running a program.
  std::vector<std::string> scope{};
  std::vector<std::string> binaries{};
  std::vector<std::string> progress{};  // FILE:LINE
  std::string line{};                   // FILE:LINE
  std::string speedup{};                // "25%"
  std::string arrival_speedup{};        // a duration
  std::string load{};                   // "1.25x" or "1x,1.25x"
  std::string sample_period = "1ms";
  std::string experiment = "50ms";
  std::string timeout{};  // of a run; "": no timeout
  bool end_to_end = false;
  unsigned runs = 5;
};

// Reads "25%" as 25: a line takes 25 percent less time.
Result<double> read_speedup(std::string_view text);

Result<int> show_causal(const CausalOptions& options);

struct Profiled {
  stats::causal::Profile profile{};
  int interrupted = 0;  // the signal; 0: not interrupted
};
// Runs the program as often as the options say.
Result<Profiled> profile_program(const CausalOptions& options);

// --load says how much more work should arrive. The next three functions find the time that each
// visit to an arrival point must save its thread for that.

// Reads "1.25x", or several loads as "1x,1.5x", and sorts them. A load below 1 or a repeated load
// is an error.
Result<std::vector<double>> read_loads(const std::string& text);

// The mean time between two visits in one thread; 0 if there were none.
std::chrono::nanoseconds mean_gap(std::span<const stab::causal::Arrivals> arrivals);

// How many nanoseconds each visit must save. The error says which arrivals are missing, or the
// highest load that can be reached. `has_arrived`: an arrival point was visited, if only once in a
// thread.
Result<std::uint64_t> speedup_for(double load, std::span<const stab::causal::Arrivals> arrivals,
                                  bool has_arrived = false);

// The sentence about experiments without effective time, which also says what to change.
std::string timeless_words(std::uint64_t experiments, bool has_faster_arrivals);

// The options of 'stabctl causal verify'.
struct VerifyOptions {
  std::int64_t id = 0;          // of an experiment whose plan is causal
  std::string plan{};           // the file of a plan that measures the change in one comparison
  std::string cell{};           // of the profile; "": it has only one
  std::string line{};           // the changed line; "": the first that helps, by the profile
  std::string speedup = "25%";  // how much less time the line takes after the change
};

// Runs or continues the plan as 'stabctl run' does, and prints one sentence.
Result<int> verify(const Common& common, const VerifyOptions& options);

// The change that a plan with one comparison has measured.
struct MeasuredChange {
  std::string response{};
  bool is_inverse = false;  // higher is better, so the gain is a share of 1 / response
  std::string level{};      // "version=new"
  std::string baseline{};   // "version=old"
  stats::causal::Gain gain{};
};
// Fails unless there is exactly one comparison, with a finite interval, or if its verdict is
// withheld.
Result<MeasuredChange> measured_in(const stats::Analysis& analysis);

// The measured gain minus the predicted gain. The two must be independent of each other.
stats::causal::Gain difference(const stats::causal::Gain& predicted,
                               const stats::causal::Gain& measured);

}  // namespace stab::client::causal
