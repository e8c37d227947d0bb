// SPDX-License-Identifier: MIT
#include "results/sums/counters.h"

#include <algorithm>

#include "plan/measures/regions.h"
#include "plan/measures/simulated.h"
#include "stats/numbers/order.h"

namespace stab::results {

using counters::Reading;
using counters::Status;

static_assert(counters::least_coverage == 0.5,
              "the report says 'less than half' of what is left out");

std::vector<std::string> measure_names(const plan::Plan& plan) {
  std::vector<std::string> names;
  if (plan.simulated)
    names.insert(names.end(), plan::simulated_names.begin(), plan::simulated_names.end());
  for (const plan::OutputMeasure& each : plan.outputs) names.push_back(each.name);
  for (const plan::DerivedMeasure& each : plan.derived) names.push_back(each.name);
  return names;
}

CounterCounter::CounterCounter(const std::vector<std::string>& names, Missing missing)
    : missing_(missing) {
  for (const std::string& name : names) counters_.push_back({.name = name});
  values_.resize(counters_.size());
}

void CounterCounter::look_for_regions(const std::vector<Reading>& readings) {
  for (const Reading& reading : readings) {
    if (!plan::region_of(reading.name) || regions_ == most_regions ||
        std::ranges::find(counters_, reading.name, &report::Counter::name) != counters_.end())
      continue;
    counters_.push_back({.name = reading.name});
    values_.emplace_back();
    ++regions_;
  }
}

void CounterCounter::add(const std::vector<Reading>& readings) {
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    report::Counter& counter = counters_[i];
    const auto reading = std::ranges::find(readings, counter.name, &Reading::name);
    if (reading == readings.end() && missing_ == Missing::not_meant) continue;
    if (reading == readings.end() || reading->status == Status::absent) {
      ++counter.absent;
      if (counter.reason.empty())
        counter.reason =
            reading == readings.end() ? "the trial has no such reading" : reading->reason;
      continue;
    }
    counter.unit = reading->unit;
    if (reading->status == Status::scaled) {
      ++counter.scaled;
      counter.least_coverage = std::min(counter.least_coverage, reading->coverage);
    } else {
      ++counter.counted;
    }
    if (const auto value = counters::comparable(*reading))
      values_[i].push_back(counters::to_double(*value));
    else if (reading->coverage < counters::least_coverage)
      ++counter.left_out;
  }
}

std::vector<report::Counter> CounterCounter::result() const {
  std::vector<report::Counter> counters = counters_;
  for (std::size_t i = 0; i < counters.size(); ++i)
    if (!values_[i].empty()) counters[i].median = stats::median(values_[i]);
  return counters;
}

}  // namespace stab::results
