// SPDX-License-Identifier: MIT
// Sums up the samples of the trials: how much of the variance is between trials, and how much within.
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

// "sort/BM_insert", or "sort" where the samples are of the program itself.
std::string subject_of(const store::Trial& trial, const counters::Samples& samples);

// Of a benchmark in a plan: what its program measures beyond that is left out, with a note.
inline constexpr std::size_t most_subjects = 1000;

class SampleSums {
 public:
  // Of the plan's first response, on the scale on which it is compared.
  explicit SampleSums(const plan::Plan& plan);
  // `cell`: the trial's benchmark and levels.
  void add(const store::Trial& trial, const std::string& cell);
  // Of the subjects of which some trial has two samples and some cell two trials.
  [[nodiscard]] std::vector<report::WithinTrials> result() const;

 private:
  using Trials = std::vector<stats::Moments>;  // each of its samples

  std::string response_;
  bool log_scale_;
  double alpha_;
  // By subject, in the order of coming, and by cell.
  std::map<std::string, std::size_t> places_;
  std::vector<std::pair<std::string, std::map<std::string, Trials>>> subjects_;
};

}  // namespace stab::results
