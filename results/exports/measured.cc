// SPDX-License-Identifier: MIT
#include "results/exports/measured.h"

#include <fmt/format.h>

#include "design/expand.h"
#include "plan/reading/reader.h"
#include "toml/problems.h"

namespace stab::results {

Result<plan::Plan> plan_of(const store::Experiment& experiment) {
  auto plan = plan::read_plan(experiment.plan);
  if (!plan)
    return fail(fmt::format("this version of stabd does not accept the plan of experiment {}: {}",
                            experiment.id, toml::describe(plan.error(), "plan")));
  return *std::move(plan);
}

bool is_measured(const store::Trial& trial) {
  return trial.last && !trial.warmup && trial.status == store::TrialStatus::ok;
}

std::map<std::string, std::string> treatments_of(const plan::Plan& plan,
                                                 const store::Trial& trial) {
  std::map<std::string, std::string> levels;
  for (const std::size_t index : plan::treatments(plan)) {
    const auto level = trial.levels.find(plan.factors[index].name);
    if (level != trial.levels.end()) levels.insert(*level);
  }
  return levels;
}

}  // namespace stab::results
