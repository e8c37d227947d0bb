// SPDX-License-Identifier: MIT
// 'stabctl causal': finds the line that is worth making faster, from existing profiles or by
// running a program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "stats/causal/profile.h"

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

}  // namespace stab::client::causal
