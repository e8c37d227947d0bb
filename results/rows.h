// SPDX-License-Identifier: MIT
// The stored trials of an experiment, as data for its analysis and its report.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "report/model.h"
#include "results/cost.h"
#include "results/exclusion.h"
#include "results/sums.h"
#include "results/trials.h"
#include "stats/data/dataset.h"
#include "stats/data/spec.h"
#include "store/reader.h"

namespace stab::results {

// Columns of the data that are not factors of the plan.
inline constexpr const char* subject_column = "benchmark";
inline constexpr const char* block_column = "block";
inline constexpr const char* comparison_column = "comparison";

// How often and how long trials waited for a quiet machine.
struct Waits {
  void add(const std::vector<counters::Reading>& readings);
  std::uint64_t times = 0;
  std::uint64_t in_vain = 0;
  std::int64_t ns = 0;
};

// The numbers of a further response.
struct OtherRows {
  stats::Dataset data;
  stats::Unit unit = stats::Unit::nanoseconds;
};

// A group of equal failures.
struct Failure {
  std::uint64_t trials = 0;
  std::string said{};  // the last line that the first of them printed on stderr
};

// The most frequent cause comes first.
std::vector<report::FailureCause> sorted(std::map<std::string, report::FailureCause> causes);

// The trials that count, read in one pass. Plain trials are only in `cost`, in the counts of trials
// and among the failures.
struct Rows {
  explicit Rows(const plan::Plan& plan);  // keeps a reference to the plan

  stats::Dataset data;
  LayoutCounter layouts;
  LoadCounter load;
  CounterCounter counters;  // of all trials
  CounterCounter rotated;   // only of the blocks in which the event had its turn
  CounterCounter measures;
  report::TrialCounts counts;
  std::map<std::string, Failure> failures;             // by cell and reason
  std::map<std::string, report::FailureCause> causes;  // by reason only
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::uint32_t blocks = 0;                     // measured blocks
  stats::Unit unit = stats::Unit::nanoseconds;  // of the response
  // Only if the plan has rules that exclude trials and the caller asks for it.
  std::optional<exclusion::Tally> tally;
  std::vector<OtherRows> others;  // of further responses, if the caller asks for them
  stats::Dataset without_rules;   // the attempts that would count without the rules
  CostSums cost;
  SampleSums samples;     // of the response, if the caller asks for them
  OutputCounter outputs;  // if the caller asks for them
  Waits waits;
  CausalCells causal;              // of a causal plan
  std::vector<std::string> notes;  // about data that is left out
};

// A stopping rule looks at the first response after exclusions. A report also shows the other
// responses and the result without the exclusion rules.
enum class For { stopping_rule, report };

// Reads the first `most` measured blocks.
store::Outcome<Rows> read_rows(store::Reader& store, const store::Experiment& experiment,
                               const plan::Plan& plan, For whom,
                               std::uint32_t most = std::numeric_limits<std::uint32_t>::max());

}  // namespace stab::results
