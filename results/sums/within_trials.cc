// SPDX-License-Identifier: MIT
#include "results/sums/within_trials.h"

#include <cmath>

#include "stats/tests/variance_components.h"

namespace stab::results {
namespace {

constexpr std::size_t most_shown = 10 * most_subjects;

}  // namespace

std::string subject_of(const store::Trial& trial, const counters::Samples& samples) {
  return samples.subject.empty() ? trial.benchmark : trial.benchmark + "/" + samples.subject;
}

SampleSums::SampleSums(const plan::Plan& plan)
    : response_(plan.analysis.response),
      log_scale_(plan.analysis.log_scale),
      alpha_(plan.analysis.alpha) {}

void SampleSums::add(const store::Trial& trial, const std::string& cell) {
  for (const counters::Samples& each : trial.samples) {
    if (each.measure != response_ || each.values.empty()) continue;
    stats::Moments moments;
    for (const double value : each.values) moments.add(log_scale_ ? std::log(value) : value);
    if (!std::isfinite(moments.mean) || !std::isfinite(moments.ss)) continue;
    const std::string subject = subject_of(trial, each);
    auto place = places_.find(subject);
    if (place == places_.end()) {
      if (subjects_.size() == most_shown) continue;
      place = places_.emplace(subject, subjects_.size()).first;
      subjects_.emplace_back(subject, std::map<std::string, Trials>());
    }
    subjects_[place->second].second[cell].push_back(moments);
  }
}

std::vector<report::WithinTrials> SampleSums::result() const {
  std::vector<report::WithinTrials> result;
  for (const auto& [subject, by_cell] : subjects_) {
    std::vector<Trials> cells;
    double trials = 0;
    double samples = 0;
    for (const auto& [cell, groups] : by_cell) {
      cells.push_back(groups);
      for (const stats::Moments& each : groups) samples += static_cast<double>(each.n);
      trials += static_cast<double>(groups.size());
    }
    const auto known = stats::variance_components(cells, alpha_);
    if (!known) continue;
    const double per_trial = samples / trials;
    const double of_mean = known->within / per_trial;
    report::WithinTrials within{.subject = subject,
                                .samples = per_trial,
                                .between = known->between,
                                .between_low = known->between_interval.low,
                                .between_high = known->between_interval.high,
                                .within = known->within,
                                .within_low = known->within_interval.low,
                                .within_high = known->within_interval.high};
    if (known->between + of_mean > 0) within.share = of_mean / (known->between + of_mean);
    result.push_back(std::move(within));
  }
  return result;
}

}  // namespace stab::results
