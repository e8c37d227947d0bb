// SPDX-License-Identifier: MIT
#include "results/pages/random_conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>

namespace stab::results {
namespace {

using plan::FactorKind;
using report::html::Chance;

Chance chance_of(const plan::Factor& factor) {
  Chance chance{.what = factor.name};
  if (const auto* drawn = std::get_if<plan::RandomPerBlock>(&factor.levels)) {
    chance.random = true;
    chance.how =
        fmt::format("drawn for each block, from {} to {}; the same in all cells of the block",
                    drawn->minimum, drawn->maximum);
  } else if (const auto* seeds = std::get_if<plan::RandomSeeds>(&factor.levels)) {
    chance.random = true;
    chance.how = fmt::format("{} seeds, each run {} times", seeds->seeds, seeds->runs);
  } else if (factor.is_treatment()) {
    chance.how = "a treatment, which is compared";
  } else {
    const auto& levels = std::get<plan::FixedLevels>(factor.levels).levels;
    chance.how = "fixed at " + (levels.empty() ? "nothing" : levels.front().name);
  }
  return chance;
}

std::string_view times_in_block(plan::DesignKind kind) {
  switch (kind) {
    case plan::DesignKind::nested:
      return "once with each seed of the cell";
    case plan::DesignKind::padding_study:
      return "once under each padding";
    case plan::DesignKind::one_way:
    case plan::DesignKind::within_subjects:
    case plan::DesignKind::full_factorial:
    case plan::DesignKind::custom:
    case plan::DesignKind::calibration:
    case plan::DesignKind::fractional:
    case plan::DesignKind::causal:
      return "once";
  }
  return "once";
}

bool has(const plan::Plan& plan, FactorKind kind) {
  return std::ranges::any_of(plan.factors,
                             [&](const plan::Factor& factor) { return factor.kind == kind; });
}

Chance programs_own(const report::Layouts& layouts) {
  Chance chance{.what = "positions of code, stack and heap"};
  const std::uint64_t all = layouts.randomized + layouts.unrandomized + layouts.without_runtime;
  chance.random = layouts.randomized > 0;
  if (layouts.randomized > 0)
    chance.how = fmt::format("by the programs' runtime ({}) in {} of {} trials", layouts.kinds,
                             layouts.randomized, all);
  else if (layouts.unrandomized > 0)
    chance.how = "the programs support it, but were told not to or failed to";
  else if (layouts.in_place > 0 && layouts.in_place == layouts.without_runtime)
    chance.how = fmt::format("as they were built: {}", layouts.why_in_place);
  else
    chance.how = "as the compiler made them: the programs were not built with szc";
  return chance;
}

}  // namespace

std::vector<Chance> chances_of(const plan::Plan& plan, const report::Document& document) {
  std::vector<Chance> chances;
  chances.push_back(
      {.what = "order of trials",
       .how = fmt::format("each block runs each of its cells {}, in an order drawn from the seed",
                          times_in_block(plan.design.kind)),
       .random = true});
  for (const plan::Factor& factor : plan.factors) chances.push_back(chance_of(factor));
  chances.push_back(programs_own(document.layouts));
  if (!has(plan, FactorKind::aslr))
    chances.push_back({.what = "address space (ASLR)",
                       .how = plan.aslr ? "the kernel draws addresses for each trial"
                                        : "switched off for the trials",
                       .random = plan.aslr});
  if (!has(plan, FactorKind::env_bytes))
    chances.push_back({.what = "size of the environment",
                       .how = "not a factor: as the plan's variables make it"});
  if (!has(plan, FactorKind::link_order))
    chances.push_back({.what = "link order", .how = "not a factor: as in the build commands"});
  chances.push_back(
      {.what = "machine, kernel and session",
       .how = "one machine, during one period: another machine may give another answer"});
  return chances;
}

}  // namespace stab::results
