// SPDX-License-Identifier: MIT
// For any bytes the reader returns a plan or problems, and a small plan can be expanded.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "design/model.h"
#include "design/resolve.h"
#include "design/trial_list.h"
#include "plan/reading/read_plan.h"

namespace stab::plan {
namespace {

constexpr std::size_t small_enough = 20'000;  // in trials; more would only take time

void require(bool holds) {
  if (!holds) std::abort();
}

void check_problems(const std::vector<toml::Problem>& problems) {
  require(!problems.empty() && problems.size() <= toml::max_problems + 1);
  for (const toml::Problem& problem : problems) {
    require(!problem.message.empty());
    require((problem.line == 0) == (problem.column == 0));
  }
  for (const char c : toml::describe(problems, "p"))
    require(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

void check_plan(const Plan& plan) {
  std::size_t repetitions = 0;
  for (const Benchmark& benchmark : plan.benchmarks)
    repetitions += benchmark.repetitions + plan.warmup;
  if (repetitions > small_enough) return;
  const Expansion expansion = expand(plan);
  require(!expansion.trials.empty() && expansion.trials.size() <= max_trials);
  for (const Trial& trial : expansion.trials) {
    if (trial.position >= small_enough) break;
    require(trial.levels.size() == plan.factors.size());
    require(!resolve(plan, trial).run.empty());
  }
  for (const ModelFor& one : models(plan, expansion)) {
    require(!one.model.terms.empty());
    for (const Term& term : one.model.terms) require(term.df >= 0);
  }
}

}  // namespace
}  // namespace stab::plan

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto plan = stab::plan::read_plan({reinterpret_cast<const char*>(data), size});
  if (plan)
    stab::plan::check_plan(*plan);
  else
    stab::plan::check_problems(plan.error());
  return 0;
}
