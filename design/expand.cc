// SPDX-License-Identifier: MIT
#include "design/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/random.h"

namespace stab::plan {
namespace {

using Levels = std::vector<Level>;

// What a block runs once.
struct Unit {
  std::uint32_t benchmark = 0;
  std::uint32_t cell = 0;
  std::uint32_t nested = 0;  // which of the nested factor's seeds; 0 if there is none
};

struct Block {
  std::uint32_t number = 0;
  bool warmup = false;
};

// Warm-up blocks draw for themselves, so that their number does not change the measured ones.
std::string purpose(const Block& block, std::string_view what) {
  return fmt::format("{}{}", block.warmup ? "warmup " : "", what);
}

Level drawn(Random& random, std::uint64_t minimum, std::uint64_t maximum) {
  const std::uint64_t number = minimum + random.below(maximum - minimum + 1);
  return {.name = fmt::format("{}", number), .variables = {}, .number = number};
}

const FixedLevels& fixed(const Factor& factor) {
  return std::get<FixedLevels>(factor.levels);
}

// Without the variables: a million copies of them would fill the memory.
Level bare(const Level& level) {
  return {.name = level.name, .variables = {}, .number = level.number};
}

// All combinations, the last treatment's level changing fastest.
std::vector<Levels> factorial_cells(const Plan& plan, const std::vector<std::size_t>& indices) {
  std::vector<Levels> cells{{}};
  for (const std::size_t index : indices) {
    std::vector<Levels> longer;
    for (const Levels& cell : cells)
      for (const Level& level : fixed(plan.factors[index]).levels) {
        longer.push_back(cell);
        longer.back().push_back(bare(level));
      }
    cells = std::move(longer);
  }
  return cells;
}

std::vector<Levels> listed_cells(const Plan& plan, const std::vector<std::size_t>& indices) {
  std::vector<Levels> cells;
  for (const Cell& named : plan.design.cells) {
    Levels cell;
    for (const std::size_t index : indices) {
      const Factor& factor = plan.factors[index];
      cell.push_back(
          bare(*std::ranges::find(fixed(factor).levels, named.at(factor.name), &Level::name)));
    }
    cells.push_back(std::move(cell));
  }
  return cells;
}

// Different values for each cell, or in a padding study the same ones; the same for all benchmarks,
// as their builds may be the same.
std::vector<Levels> nested_levels(const Plan& plan, std::size_t cells) {
  const bool same = plan.design.kind == DesignKind::padding_study;
  std::vector<Levels> all(cells);
  for (const Factor& factor : plan.factors) {
    const auto* seeds = std::get_if<RandomSeeds>(&factor.levels);
    if (seeds == nullptr) continue;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      Random random(derive(plan.seed, fmt::format("factor:{}", factor.name), {same ? 0 : cell}));
      std::set<std::uint64_t> seen;
      while (all[cell].size() < seeds->seeds) {
        Level level = drawn(random, seeds->minimum, seeds->maximum);
        if (seen.insert(level.number).second) all[cell].push_back(std::move(level));
      }
    }
  }
  return all;
}

class Expander {
 public:
  explicit Expander(const Plan& plan) : plan_(plan), treatments_(treatments(plan)) {
    expansion_.cells = lists_cells(plan.design.kind) ? listed_cells(plan, treatments_)
                                                     : factorial_cells(plan, treatments_);
    nested_ = nested_levels(plan, expansion_.cells.size());
    for (const Benchmark& benchmark : plan.benchmarks)
      expansion_.blocks = std::max(expansion_.blocks, benchmark.repetitions);
  }

  Expansion run() && {
    for (std::uint32_t i = 0; i < plan_.warmup; ++i) add_block({.number = i, .warmup = true});
    for (std::uint32_t i = 0; i < expansion_.blocks; ++i) add_block({.number = i, .warmup = false});
    return std::move(expansion_);
  }

 private:
  [[nodiscard]] std::vector<Unit> units(const Block& block) const {
    std::vector<Unit> units;
    for (std::uint32_t b = 0; b < plan_.benchmarks.size(); ++b) {
      if (!block.warmup && block.number >= plan_.benchmarks[b].repetitions) continue;
      for (std::uint32_t c = 0; c < expansion_.cells.size(); ++c)
        for (std::uint32_t n = 0; n < std::max<std::size_t>(nested_[c].size(), 1); ++n)
          units.push_back({.benchmark = b, .cell = c, .nested = n});
    }
    return units;
  }

  // The value of each factor that is drawn once a block; the others stay empty.
  [[nodiscard]] Levels block_levels(const Block& block) const {
    Levels levels(plan_.factors.size());
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const auto* per_block = std::get_if<RandomPerBlock>(&plan_.factors[i].levels);
      if (per_block == nullptr) continue;
      const std::string what = purpose(block, fmt::format("factor:{}", plan_.factors[i].name));
      Random random(derive(plan_.seed, what, {block.number}));
      levels[i] = drawn(random, per_block->minimum, per_block->maximum);
    }
    return levels;
  }

  [[nodiscard]] Levels levels_of(const Unit& unit, Levels levels) const {
    std::size_t treatment = 0;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const Factor& factor = plan_.factors[i];
      if (factor.is_treatment())
        levels[i] = expansion_.cells[unit.cell][treatment++];
      else if (std::holds_alternative<FixedLevels>(factor.levels))
        levels[i] = bare(fixed(factor).levels.front());
      else if (std::holds_alternative<RandomSeeds>(factor.levels))
        levels[i] = nested_[unit.cell][unit.nested];
    }
    return levels;
  }

  void add_block(const Block& block) {
    std::vector<Unit> order = units(block);
    Random random(derive(plan_.seed, purpose(block, "order"), {block.number}));
    random.shuffle(std::span(order));
    const Levels levels = block_levels(block);
    for (const Unit& unit : order)
      expansion_.trials.push_back(
          {.position = static_cast<std::uint32_t>(expansion_.trials.size()),
           .block = block.number,
           .warmup = block.warmup,
           .benchmark = unit.benchmark,
           .cell = unit.cell,
           .levels = levels_of(unit, levels),
           .seed = derive(plan_.seed, purpose(block, "trial"),
                          {block.number, unit.benchmark, unit.cell, unit.nested})});
  }

  const Plan& plan_;
  std::vector<std::size_t> treatments_;
  std::vector<Levels> nested_;  // by cell; empty ones where no factor is nested
  Expansion expansion_;
};

}  // namespace

std::vector<std::size_t> treatments(const Plan& plan) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < plan.factors.size(); ++i)
    if (plan.factors[i].is_treatment()) indices.push_back(i);
  return indices;
}

std::size_t count_trials(const Plan& plan) {
  std::size_t units = 1;  // of a benchmark in a block
  if (lists_cells(plan.design.kind))
    units = plan.design.cells.size();
  else
    for (const std::size_t index : treatments(plan))
      units *= fixed(plan.factors[index]).levels.size();
  std::size_t nested = 1;
  for (const Factor& factor : plan.factors)
    if (const auto* seeds = std::get_if<RandomSeeds>(&factor.levels))
      nested = std::max<std::size_t>(nested, seeds->seeds);
  std::size_t blocks = 0;  // of all benchmarks together
  for (const Benchmark& benchmark : plan.benchmarks) blocks += plan.warmup + benchmark.repetitions;
  return blocks * units * nested;
}

std::size_t fewest_trials(const Plan& plan, const Expansion& expansion) {
  if (!plan.design.stop) return expansion.trials.size();
  const auto more = std::ranges::find_if(expansion.trials, [&](const Trial& trial) {
    return !trial.warmup && trial.block >= plan.design.stop->min();
  });
  return static_cast<std::size_t>(more - expansion.trials.begin());
}

Expansion expand(const Plan& plan) {
  return Expander(plan).run();
}

}  // namespace stab::plan
