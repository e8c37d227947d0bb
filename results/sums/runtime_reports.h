// SPDX-License-Identifier: MIT
// Sums up, trial by trial, what the programs' runtimes reported.
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
  std::set<std::string> in_place_;  // why programs cannot have a runtime
  std::vector<double> shares_;      // one for each randomized trial
  std::vector<double> epochs_;
  std::vector<double> fixed_;  // the shares of the heaps' bytes that were not shuffled
};

}  // namespace stab::results
