// SPDX-License-Identifier: MIT
#include "client/check/comparisons.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "design/expand.h"
#include "design/model.h"
#include "design/rotation.h"

namespace stab::client {
namespace {

using plan::DesignKind;
using stats::Scope;

const plan::FixedLevels& levels_of(const plan::Plan& plan, std::size_t factor) {
  return std::get<plan::FixedLevels>(plan.factors[factor].levels);
}

std::size_t cells_of(const plan::Plan& plan) {
  if (plan::lists_cells(plan.design.kind)) return plan.design.cells.size();
  std::size_t cells = 1;
  for (const std::size_t factor : plan::treatments(plan))
    cells *= levels_of(plan, factor).levels.size();
  return cells;
}

// Counts the pairs of listed cells that differ only in this treatment.
std::size_t pairs(const plan::Plan& plan, std::size_t factor, const Comparison& comparison) {
  const auto& levels = levels_of(plan, factor).levels;
  const auto& cells = plan.design.cells;
  return static_cast<std::size_t>(std::ranges::count_if(cells, [&](plan::Cell cell) {
    std::string& own = cell.at(plan.factors[factor].name);
    if (own != levels[comparison.base].name) return false;
    own = levels[comparison.level].name;
    return std::ranges::find(cells, cell) != cells.end();
  }));
}

std::size_t cells_on_each_side(const plan::Plan& plan, std::size_t factor,
                               const Comparison& comparison) {
  if (plan.design.kind == DesignKind::custom) return pairs(plan, factor, comparison);
  return cells_of(plan) / levels_of(plan, factor).levels.size();
}

const plan::RandomSeeds* seeds_of(const plan::Plan& plan) {
  for (const plan::Factor& factor : plan.factors)
    if (const auto* seeds = std::get_if<plan::RandomSeeds>(&factor.levels)) return seeds;
  return nullptr;
}

// The error of a comparison within one benchmark.
OwnError error_of(const plan::Plan& plan, const plan::Benchmark& benchmark) {
  OwnError error{.benchmark = benchmark.name, .units = plan::compared_blocks(plan, benchmark)};
  if (const auto* seeds = seeds_of(plan)) error.units = seeds->seeds;
  error.df = error.units - 1;
  if (plan.design.kind == DesignKind::nested) error.df *= 2;  // Welch's df for equal variances
  if (plan.analysis.pooled) error.df *= cells_of(plan) - 1;
  return error;
}

Family of_benchmarks(const plan::Plan& plan, std::size_t comparisons) {
  Family family{.scope = Scope::subject,
                .comparisons = comparisons * plan.benchmarks.size(),
                .more = seeds_of(plan) != nullptr ? "seeds" : "repetitions"};
  for (const plan::Benchmark& benchmark : plan.benchmarks)
    family.errors.push_back(error_of(plan, benchmark));
  return family;
}

Family of_all(Scope scope, std::size_t comparisons, std::size_t units) {
  return {.scope = scope,
          .comparisons = comparisons,
          .more = scope == Scope::these ? "repetitions" : "benchmarks",
          .errors = {{.benchmark = "", .units = units, .df = units - 1}}};
}

// The errors on several machines that are told apart: the blocks within each, or the machines.
std::vector<Family> of_machines(const plan::Plan& plan, std::size_t comparisons) {
  const std::size_t machines = plan.machine_count();
  const std::size_t blocks = plan::compared_blocks(plan, plan.benchmarks.front()) / machines;
  const auto family = [&](Scope scope, std::size_t count, std::size_t units, std::size_t df) {
    return Family{.scope = scope,
                  .comparisons = count,
                  .more = scope == Scope::like_these ? "nodes" : "repetitions",
                  .errors = {{.benchmark = "", .units = units, .df = df}}};
  };
  Family first = family(Scope::these, comparisons, machines * blocks, machines * (blocks - 1));
  Family second = family(Scope::like_these, comparisons, machines, machines - 1);
  if (plan.machines->like_these) std::swap(first, second);
  return {first, second, family(Scope::subject, comparisons * machines, blocks, blocks - 1)};
}

}  // namespace

std::vector<Comparison> comparisons_of(const plan::Plan& plan) {
  std::vector<Comparison> result;
  if (plan.design.kind == DesignKind::calibration || plan.is_causal()) return result;
  const auto treatments = plan::treatments(plan);
  for (std::size_t i = 0; i < treatments.size(); ++i) {
    const std::size_t levels = levels_of(plan, treatments[i]).levels.size();
    const std::size_t bases = plan.analysis.all_pairs ? levels - 1 : 1;
    for (std::size_t base = 0; base < bases; ++base)
      for (std::size_t level = base + 1; level < levels; ++level) {
        Comparison comparison{.treatment = i, .base = base, .level = level};
        comparison.cells = cells_on_each_side(plan, treatments[i], comparison);
        if (comparison.cells > 0) result.push_back(comparison);
      }
  }
  return result;
}

std::size_t Family::fewest_df() const {
  return std::ranges::min(errors, {}, &OwnError::df).df;
}

std::vector<Family> families(const plan::Plan& plan) {
  const std::size_t comparisons = comparisons_of(plan).size();
  if (comparisons == 0) return {};
  if (plan::tells_machines_apart(plan, plan.analysis.response))
    return of_machines(plan, comparisons);
  const Family each = of_benchmarks(plan, comparisons);
  if (plan.design.kind != DesignKind::within_subjects) return {each};
  // The benchmarks run in the same blocks, so each block yields one number for all of them.
  const std::size_t blocks = std::ranges::min(each.errors, {}, &OwnError::units).units;
  Family first = of_all(Scope::these, comparisons, blocks);
  Family second = of_all(Scope::like_these, comparisons, plan.benchmarks.size());
  if (!plan.analysis.these_programs) std::swap(first, second);
  return {first, second, each};
}

}  // namespace stab::client
