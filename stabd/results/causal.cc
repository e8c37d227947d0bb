// SPDX-License-Identifier: MIT
#include "stabd/results/causal.h"

#include <fmt/format.h>

#include <utility>

#include "design/expand.h"
#include "stabd/results/trials.h"
#include "stats/causal/analyse.h"
#include "stats/causal/run_text.h"

namespace stab::results {

Result<void> CausalCells::add(const plan::Plan& plan, const store::Trial& trial) {
  std::string name = cell_text(plan, trial);
  const auto [place, is_new] = places_.try_emplace(name, cells_.size());
  if (is_new) {
    report::CausalCell cell{.name = std::move(name), .benchmark = trial.benchmark};
    for (const std::size_t index : plan::treatments(plan)) {
      const std::string& factor = plan.factors[index].name;
      if (const auto level = trial.levels.find(factor); level != trial.levels.end())
        cell.levels.insert(*level);
    }
    cells_.push_back(std::move(cell));
  }
  if (auto read = stats::causal::read_run(trial.causal, cells_[place->second].profile); !read)
    return fail(fmt::format("trial {}, attempt {}: {}", trial.position, trial.attempt,
                            read.error().message));
  return {};
}

std::vector<report::CausalCell> CausalCells::result(const plan::Plan& plan) && {
  for (report::CausalCell& cell : cells_) {
    auto made =
        stats::causal::analyse(cell.profile, {.alpha = plan.analysis.alpha, .seed = plan.seed});
    if (made)
      cell.analysis = *std::move(made);
    else
      cell.reason = made.error().message;
  }
  return std::move(cells_);
}

}  // namespace stab::results
