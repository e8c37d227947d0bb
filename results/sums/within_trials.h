// SPDX-License-Identifier: MIT
// Sums up the samples of the trials to tell how much of the variance is between trials, and how
// much within them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "report/model.h"
#include "stats/numbers/summary.h"
#include "store/records.h"

namespace stab::results {

// "sort/BM_insert", or "sort" if the samples belong to the whole program.
std::string subject_of(const store::Trial& trial, const counters::Samples& samples);

// The number of subjects that one benchmark of a plan can have; a note says that further subjects
// of its program are left out.
inline constexpr std::size_t most_subjects = 1000;

class SampleSums {
 public:
  // Sums up the plan's first response, on the scale on which it is compared.
  explicit SampleSums(const plan::Plan& plan);
  // `cell`: the trial's benchmark and levels.
  void add(const store::Trial& trial, const std::string& cell);
  // Has the subjects for which some trial has two samples and some cell has two trials.
  [[nodiscard]] std::vector<report::WithinTrials> result() const;

 private:
  using Trials = std::vector<stats::Moments>;  // one item for each trial, over its samples

  std::string response_;
  bool log_scale_;
  double alpha_;
  // Subjects are in the order of their first trials; each has its trials by cell.
  std::map<std::string, std::size_t> places_;
  std::vector<std::pair<std::string, std::map<std::string, Trials>>> subjects_;
};

}  // namespace stab::results
