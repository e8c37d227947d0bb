// SPDX-License-Identifier: MIT
// 'stabctl analyze': analyses data from any source without a daemon: tables (CSV), and the JSON of
// hyperfine and Google Benchmark.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/exit_code.h"
#include "stats/data/csv.h"
#include "stats/verdicts/analysis.h"

namespace stab::client {

struct AnalyzeOptions {
  std::vector<std::string> files;  // several files are the levels of a factor
  std::string format = "auto";     // "csv", "hyperfine", "google-benchmark"
  std::string file_factor;         // "version", or "version=old,new"
  std::string response;
  std::vector<std::string> factors;
  std::string block;
  std::string subject;
  std::string random;                   // a factor nested in the treatments
  std::string seeds = "auto";           // of `random`: "nested", "crossed"
  std::vector<std::string> generators;  // "d=a:b:c"; empty: the table shows them
  std::string estimand = "mean";        // "typical", "median"
  bool independent_blocks = false;
  bool order_drawn = false;
  std::uint64_t seed = 1;               // of randomization tests
  std::string losses = "extremes";      // "monotone", "random"
  std::optional<double> lost_at_least;  // bound for trials without a number
  std::optional<double> lost_at_most;
  std::optional<double> resolution;     // of the clock that measured the response
  std::string order;                    // column that says when a row was measured
  std::vector<std::string> baselines;   // "opt=O2"
  std::string scale = "raw";            // "log"
  std::string method = "standard";      // "stabilizer"
  std::string error = "own";            // "pooled"
  std::string programs = "like-these";  // "these"
  std::string machine;                  // column of the machine that each trial ran on
  std::string machine_kind;             // column of its kind: slow ones of a kind are left out
  std::string answer = "these";         // with `machine`; "like-these"
  std::string pairs = "baseline";       // "all"
  bool higher_is_better = false;
  std::string unit;         // "ns", "bytes"
  std::string equivalence;  // "1%" or "0.01"
  double alpha = 0.05;
  int sums_of_squares = 2;
  bool json = false;
  bool full = false;  // text: all tables
  std::string output;
  FailOn fail_on{};
};

Result<int> analyze(const AnalyzeOptions& options);

// Reads "1%" or "0.01" as 0.01. The share must be above 0 and below 1; the error names `option`.
Result<double> read_share(const std::string& option, const std::string& text);

// Whether the word names a quantile ("p90", "p99.9"). Quantiles are not estimands, but get an error
// with a reason instead of a list of words.
bool is_quantile(const std::string& estimand);

// The parts of analyze().
Result<stats::Spec> analyze_spec(const AnalyzeOptions& options);
stats::CsvColumns analyze_columns(const stats::Spec& spec, const std::string& order);
// Puts the baselines' levels first; fails for unknown columns and levels.
Result<void> set_baselines(const std::vector<std::string>& baselines, const stats::Spec& spec,
                           stats::Dataset& data);

}  // namespace stab::client
