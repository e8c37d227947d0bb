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
  // Analysed, in the order in which they first came.
  std::vector<report::CausalCell> result(const plan::Plan& plan) &&;

 private:
  std::vector<report::CausalCell> cells_;
  std::map<std::string, std::size_t> places_;  // by name
};

}  // namespace stab::results
