// SPDX-License-Identifier: MIT
// Sums up the events that a plan counts, and its own measures, trial by trial.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/measures/regions.h"
#include "plan/plan.h"
#include "report/model.h"
#include "store/records.h"

namespace stab::results {

// The names of the measures that the plan defines itself, in its order.
std::vector<std::string> measure_names(const plan::Plan& plan);

// What a trial that has no reading of a name says of it.
enum class Missing {
  absent,    // it should have one
  not_meant  // its benchmark does not have that, or its block
};

class CounterCounter {
 public:
  CounterCounter(const std::vector<std::string>& names, Missing missing);
  // What programs call their regions, of those of any trial so far.
  void look_for_regions(const std::vector<counters::Reading>& readings);
  void add(const std::vector<counters::Reading>& readings);
  [[nodiscard]] std::vector<report::Counter> result() const;

 private:
  static constexpr std::size_t most_regions = 2 * plan::max_regions;  // readings of one program's
  Missing missing_;
  std::size_t regions_ = 0;
  std::vector<report::Counter> counters_;
  std::vector<std::vector<double>> values_;  // that can be compared, by counter
};

}  // namespace stab::results
