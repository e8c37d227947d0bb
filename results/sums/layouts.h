// SPDX-License-Identifier: MIT
// Sums up what the runtimes of the programs reported, trial by trial.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "report/model.h"
#include "store/records.h"

namespace stab::results {

class LayoutCounter {
 public:
  void add(const store::Layout& layout);
  [[nodiscard]] report::Layouts result() const;

 private:
  report::Layouts counts_;
  std::set<std::string> kinds_;
  std::set<std::string> in_place_;  // why programs without a runtime cannot have one
  std::vector<double> shares_;      // one a randomized trial
  std::vector<double> epochs_;
  std::vector<double> fixed_;  // shares of the heap's bytes that were not shuffled
};

}  // namespace stab::results
