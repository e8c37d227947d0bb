// SPDX-License-Identifier: MIT
// Makes a profile of each cell from the trials of a causal plan.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "report/model.h"
#include "store/records.h"

namespace stab::results {

class CausalCells {
 public:
  // Adds a trial that counts. The error names a trial whose profile can't be read.
  Result<void> add(const plan::Plan& plan, const store::Trial& trial);
  // Analyses the profiles and moves them into the document, in the order in which the cells first
  // came, with notes on problems with their sampling. Call it once.
  void finish(const plan::Plan& plan, report::Document& document);

 private:
  std::vector<report::CausalCell> result(const plan::Plan& plan);
  // If the plan makes arrivals faster by several times, combines the cells that differ only in this
  // time.
  std::vector<report::CausalLoads> loads(const plan::Plan& plan);
  Result<void> add_to_loads(const plan::Plan& plan, const store::Trial& trial,
                            const plan::Factor& arrivals);

  std::vector<report::CausalCell> cells_;
  std::map<std::string, std::size_t> places_;  // by the cell's name
  std::vector<report::CausalLoads> loads_;
  std::map<std::string, std::size_t> places_with_loads_;
};

}  // namespace stab::results
