// SPDX-License-Identifier: MIT
// The trials of a causal plan -> a profile of each cell.
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
  // Of trials that count. An error names the trial whose text is none of ours.
  Result<void> add(const plan::Plan& plan, const store::Trial& trial);
  // Into the document, analysed, in the order in which they first came, with notes on what makes them
  // worse than they could be. Once.
  void finish(const plan::Plan& plan, report::Document& document);

 private:
  std::vector<report::CausalCell> result(const plan::Plan& plan);
  // Of a plan that makes arrivals faster by several times: cells that differ in that alone, together.
  std::vector<report::CausalLoads> loads(const plan::Plan& plan);
  Result<void> add_to_loads(const plan::Plan& plan, const store::Trial& trial,
                            const plan::Factor& arrivals);

  std::vector<report::CausalCell> cells_;
  std::map<std::string, std::size_t> places_;  // by name
  std::vector<report::CausalLoads> loads_;
  std::map<std::string, std::size_t> places_with_loads_;
};

}  // namespace stab::results
