// SPDX-License-Identifier: MIT
#include "results/exclusion/tally.h"

#include "results/exclusion/judge.h"

namespace stab::exclusion {

bool Tally::add(const store::Trial& trial, const std::string& cell) {
  const bool disturbed = trial.status == store::TrialStatus::disturbed;
  if (!disturbed && trial.status != store::TrialStatus::ok) return false;
  const std::vector<std::size_t> open = judge(plan_.exclude, trial).open;
  for (const std::size_t rule : open) ++rules_[rule].open;
  if (disturbed) {
    ++attempts_;
    lost_ += trial.last ? 1 : 0;
    if (const auto rule = rule_of(trial); rule && *rule < rules_.size()) ++rules_[*rule].caught;
  }
  if (position_ == trial.position) return false;
  position_ = trial.position;
  if (open.size() == rules_.size() && !disturbed) return true;
  Cell& its = cells_.try_emplace(cell, Cell{.number = static_cast<std::uint32_t>(cells_.size())})
                  .first->second;
  ++its.judged;
  its.disturbed += disturbed ? 1 : 0;
  const std::uint32_t stratum =
      strata_
          .try_emplace({trial.benchmark, trial.block}, static_cast<std::uint32_t>(strata_.size()))
          .first->second;
  first_.push_back({.stratum = stratum, .cell = its.number, .marked = disturbed});
  return true;
}

report::Exclusions Tally::result() const {
  report::Exclusions result{.disturbed = attempts_, .lost = lost_, .alpha = plan_.analysis.alpha};
  for (std::size_t i = 0; i < rules_.size(); ++i)
    result.rules.push_back({.when = plan::describe(plan_.exclude[i]),
                            .caught = rules_[i].caught,
                            .open = rules_[i].open});
  for (const auto& [name, cell] : cells_)
    result.cells.push_back({.name = name, .judged = cell.judged, .disturbed = cell.disturbed});
  const stats::Dependence dependence =
      stats::dependence_on_cell(first_, plan_.seed, plan_.analysis.alpha);
  result.p = dependence.p;
  return result;
}

}  // namespace stab::exclusion
