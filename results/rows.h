// SPDX-License-Identifier: MIT
// The stored trials of an experiment as the analysis and the report take them.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "report/model.h"
#include "results/causal.h"
#include "results/exclusion/tally.h"
#include "results/sums/counters.h"
#include "results/sums/layouts.h"
#include "results/sums/load.h"
#include "results/sums/outputs.h"
#include "results/sums/samples.h"
#include "results/trials.h"
#include "stats/data/dataset.h"
#include "stats/data/spec.h"
#include "store/reader.h"

namespace stab::results {

// Columns of the data beside the plan's factors.
inline constexpr const char* subject_column = "benchmark";
inline constexpr const char* block_column = "block";
inline constexpr const char* comparison_column = "comparison";

// For a quiet machine.
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

// Equal failures.
struct Failure {
  std::uint64_t trials = 0;
  std::string said{};  // by the first of them: the last line on stderr
};

// The most frequent one first.
std::vector<report::FailureCause> sorted(std::map<std::string, report::FailureCause> causes);

// The rows that stand, taken in one pass.
struct Rows {
  explicit Rows(const plan::Plan& plan);

  stats::Dataset data;
  LayoutCounter layouts;
  LoadCounter load;
  CounterCounter counters;  // of all trials
  CounterCounter rotated;   // of the blocks whose turn it was
  CounterCounter measures;
  report::TrialCounts counts;
  std::map<std::string, Failure> failures;             // by cell and reason
  std::map<std::string, report::FailureCause> causes;  // by reason alone
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::uint32_t blocks = 0;                     // measured
  stats::Unit unit = stats::Unit::nanoseconds;  // of the response
  // With rules that exclude trials, if that is asked for.
  std::optional<exclusion::Tally> tally;
  std::vector<OtherRows> others;  // of the plan's further responses, if that is asked for
  stats::Dataset without_rules;   // the attempts that would stand
  SampleSums samples;             // of the response, if that is asked for
  OutputCounter outputs;          // if they are asked for
  Waits waits;
  CausalCells causal;              // of a causal plan
  std::vector<std::string> notes;  // on what is not in here
};

// A stopping rule looks at the first response, as the rules that exclude left it; a report shows the
// others, and the result without these rules, too.
enum class For { stopping_rule, report };

// Of the first `most` measured blocks.
store::Outcome<Rows> read_rows(store::Reader& store, const store::Experiment& experiment,
                               const plan::Plan& plan, For whom,
                               std::uint32_t most = std::numeric_limits<std::uint32_t>::max());

}  // namespace stab::results
