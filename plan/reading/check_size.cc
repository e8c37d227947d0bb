// SPDX-License-Identifier: MIT
// How large the experiment becomes, computed before anything is allocated.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "plan/reading/draft.h"

namespace stab::plan {
namespace {

constexpr std::uint64_t saturated = std::numeric_limits<std::uint64_t>::max();

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? saturated : product;
}

std::string number(std::uint64_t count) {
  return count == saturated ? "more than 10^19" : fmt::format("{}", count);
}

// The cells of a factorial design; too many are a problem at the last treatment.
std::uint64_t factorial_cells(Draft& draft) {
  std::uint64_t cells = 1;
  std::vector<std::size_t> levels;
  Position at;
  for (const DraftFactor& factor : draft.factors) {
    if (!factor.value.is_treatment()) continue;
    levels.push_back(std::get<FixedLevels>(factor.value.levels).levels.size());
    cells = times(cells, levels.back());
    at = factor.at;
  }
  if (cells > max_cells)
    draft.problems.add(at,
                       fmt::format("the design has {} = {} cells, but at most {} are allowed: "
                                   "remove levels or factors, or list the cells in a custom design",
                                   fmt::join(levels, " x "), number(cells), max_cells));
  return cells;
}

const RandomSeeds* seeds_of(const Draft& draft) {
  for (const DraftFactor& factor : draft.factors)
    if (const auto* seeds = std::get_if<RandomSeeds>(&factor.value.levels)) return seeds;
  return nullptr;
}

}  // namespace

void check_size(Draft& draft) {
  if (!draft.factors_are_good || !draft.kind_is_good || !draft.cells_are_good) return;
  const bool is_listed = lists_cells(draft.plan.design.kind);
  const std::uint64_t cells = is_listed ? draft.cells.size() : factorial_cells(draft);
  if (cells > max_cells) return;
  const RandomSeeds* nested = seeds_of(draft);
  const std::uint64_t per_block = cells * (nested != nullptr ? nested->seeds : 1);
  std::uint64_t trials = 0;
  for (const DraftBenchmark& benchmark : draft.benchmarks) {
    const std::uint64_t blocks = nested != nullptr        ? nested->runs
                                 : draft.plan.design.stop ? draft.plan.design.stop->max
                                                          : benchmark.value.repetitions;
    trials += per_block * (blocks + draft.plan.warmup);
  }
  if (trials <= max_trials) return;
  const Position at = draft.plan.design.stop          ? draft.stop_at
                      : !draft.repetitions_at.empty() ? draft.repetitions_at.front()
                                                      : Position{};
  draft.problems.add(
      at, fmt::format("the plan has {} trials ({} benchmarks, {} in a block of each), but at most "
                      "{} are allowed: lower the repetitions, or remove levels or benchmarks",
                      trials, draft.benchmarks.size(), per_block, max_trials));
}

}  // namespace stab::plan
