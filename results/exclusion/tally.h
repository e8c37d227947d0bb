// SPDX-License-Identifier: MIT
// Counts what a plan's rules excluded from an experiment, for its report. Pure.
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

  // Call it for each attempt at a measured trial, in the order of positions and attempts. `cell`:
  // the trial's benchmark and levels as text. Returns true for the position's first attempt that
  // succeeded, disturbed or not: it is the attempt that would count without the rules.
  bool add(const store::Trial& trial, const std::string& cell);

  // The members that need an analysis are left empty.
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
  std::vector<stats::Marked> first_;       // each position's first success, if it could be judged
  std::optional<std::uint32_t> position_;  // of the last success
  std::uint64_t attempts_ = 0;             // disturbed attempts
  std::uint64_t lost_ = 0;                 // positions whose last attempt is disturbed
};

}  // namespace stab::exclusion
