// SPDX-License-Identifier: MIT
// What a plan's rules did to an experiment, for its report. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "report/model.h"
#include "stats/verdicts/dependence.h"
#include "store/records.h"

namespace stab::exclusion {

class Tally {
 public:
  // Keeps a reference to the plan.
  explicit Tally(const plan::Plan& plan) : plan_(plan), rules_(plan.exclude.size()) {}

  // Each attempt at a measured trial, in the order of positions and attempts. `cell`: its benchmark
  // and levels, in words. True: it is the position's first attempt that succeeded, disturbed or not,
  // which would stand without the rules.
  bool add(const store::Trial& trial, const std::string& cell);

  // Without the results of an analysis.
  [[nodiscard]] report::Exclusions result() const;

 private:
  struct Cell {
    std::uint32_t number = 0;
    std::uint64_t judged = 0;
    std::uint64_t disturbed = 0;
  };
  struct Rule {
    std::uint64_t caught = 0;
    std::uint64_t open = 0;
  };

  const plan::Plan& plan_;
  std::vector<Rule> rules_;
  std::map<std::string, Cell> cells_;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> strata_;  // benchmark and block
  std::vector<stats::Marked> first_;       // attempts of each position that could be judged
  std::optional<std::uint32_t> position_;  // of the last one that succeeded
  std::uint64_t attempts_ = 0;             // that were disturbed
  std::uint64_t lost_ = 0;                 // positions
};

}  // namespace stab::exclusion
