// SPDX-License-Identifier: MIT
// Sums up the events that a plan counts, trial by trial.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"
#include "report/model.h"
#include "store/records.h"

namespace stab::results {

class CounterCounter {
 public:
  explicit CounterCounter(const plan::Plan& plan);
  void add(const std::vector<counters::Reading>& readings);
  [[nodiscard]] std::vector<report::Counter> result() const;

 private:
  std::vector<report::Counter> counters_;
  std::vector<std::vector<double>> values_;  // that can be compared, by counter
};

}  // namespace stab::results
