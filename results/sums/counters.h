// SPDX-License-Identifier: MIT
// Sums up, trial by trial, the events that a plan counts and the measures that it defines.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/measures/regions.h"
#include "plan/plan.h"
#include "report/model.h"
#include "store/records.h"

namespace stab::results {

// The names of the measures that the plan defines itself, in the plan's order.
std::vector<std::string> measure_names(const plan::Plan& plan);

// How to treat a trial that has no reading of a counter.
enum class Missing {
  absent,    // the trial should have one, so it counts as absent
  not_meant  // its benchmark or its block does not have this counter
};

class CounterCounter {
 public:
  CounterCounter(const std::vector<std::string>& names, Missing missing);
  // Adds a counter for each region in these readings that no earlier trial had.
  void look_for_regions(const std::vector<counters::Reading>& readings);
  void add(const std::vector<counters::Reading>& readings);
  [[nodiscard]] std::vector<report::Counter> result() const;

 private:
  static constexpr std::size_t most_regions = 2 * plan::max_regions;  // from one program's regions
  Missing missing_;
  std::size_t regions_ = 0;
  std::vector<report::Counter> counters_;
  std::vector<std::vector<double>> values_;  // the comparable values of each counter
};

}  // namespace stab::results
