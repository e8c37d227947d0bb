// SPDX-License-Identifier: MIT
#include "design/trial_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "plan/measures/formula.h"
#include "plan/options.h"

namespace stab::plan {
namespace {

using Levels = std::vector<Level>;

// P1: the place of the round with plain trials in its run of rounds.
std::uint32_t draw_plain_place(const Plan& plan, std::uint32_t run) {
  Random random(derive(plan.seed, "plain", {run}));
  return static_cast<std::uint32_t>(random.below(blocks_for_plain));
}

// P1, P3: the run of rounds that the block belongs to. Nothing if the benchmark has no plain trials
// in that run.
std::optional<std::uint32_t> run_with_plain(const Plan& plan, const Benchmark& benchmark,
                                            std::uint32_t block) {
  const std::uint32_t run_of_blocks = blocks_for_plain * plan.machine_count();
  const std::uint32_t run = block / run_of_blocks;
  return run < benchmark.repetitions / run_of_blocks ? std::optional(run) : std::nullopt;
}

std::uint32_t place_in_run(const Plan& plan, std::uint32_t block) {
  return block / plan.machine_count() % blocks_for_plain;  // P3
}

// A unit of a block: one benchmark in one cell, with one nested seed.
struct Unit {
  std::uint32_t benchmark = 0;
  std::uint32_t cell = 0;
  std::uint32_t nested = 0;  // index of the nested factor's seed; 0 without such a factor
  bool plain = false;
};

struct Block {
  std::uint32_t number = 0;
  bool warmup = false;
};

// Warm-up blocks have their own random draws, so that their number does not change the measured
// blocks.
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

// A level without its variables: a million copies of them would fill the memory.
Level bare(const Level& level) {
  return {.name = level.name, .variables = {}, .number = level.number};
}

// All combinations of levels; the level of the last treatment changes fastest.
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

// Draws different seeds for each cell, or the same seeds for all cells of a padding study. All
// benchmarks have the same seeds, because they may share builds.
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

std::vector<Levels> cells_of(const Plan& plan) {
  return lists_cells(plan.design.kind) ? listed_cells(plan, treatments(plan))
                                       : factorial_cells(plan, treatments(plan));
}

}  // namespace

struct Trials::Drawn {
  std::size_t first = 0;  // position
  Block block;
  std::vector<Unit> order;
  Levels levels;  // of the factors that are drawn once per block; empty for other factors
  std::optional<std::uint32_t> set;
};

class Trials::Blocks {
 public:
  explicit Blocks(const Plan& plan)
      : plan_(plan), cells_(cells_of(plan)), nested_(nested_levels(plan, cells_.size())) {
    for (const Benchmark& benchmark : plan.benchmarks)
      measured_ = std::max(measured_, benchmark.repetitions);
    std::size_t units_of_benchmark = 0;
    for (const Levels& nested : nested_)
      units_of_benchmark += std::max<std::size_t>(nested.size(), 1);
    if (plan.analysis.cost)
      for (std::uint32_t run = 0; run < measured_ / plan.machine_count() / blocks_for_plain; ++run)
        plain_places_.push_back(draw_plain_place(plan, run));
    starts_.push_back(0);
    for (std::size_t i = 0; i < std::size_t{plan.warmup} + measured_; ++i) {
      std::size_t trials = 0;
      for (const Benchmark& each : plan.benchmarks)
        if (runs(each, block(i)))
          trials += units_of_benchmark + (has_plain(each, block(i)) ? 1U : 0U);
      starts_.push_back(starts_.back() + trials);
    }
  }

  [[nodiscard]] std::size_t size() const { return starts_.back(); }

  [[nodiscard]] std::size_t in_block(std::uint32_t measured) const {
    const std::size_t number = std::size_t{plan_.warmup} + measured;
    return starts_.at(number + 1) - starts_.at(number);
  }

  [[nodiscard]] std::size_t number_at(std::size_t position) const {
    const auto behind = std::ranges::upper_bound(starts_, position);
    return static_cast<std::size_t>(behind - starts_.begin()) - 1;
  }

  [[nodiscard]] Drawn draw(std::size_t number) const {
    const Block which = block(number);
    Drawn drawn{.first = starts_[number],
                .block = which,
                .order = units(which),
                .levels = block_levels(which),
                .set = {}};
    if (!plan_.rotated.empty()) drawn.set = set_of(plan_, which.number, which.warmup);
    Random random(derive(plan_.seed, purpose(which, "order"), {which.number}));
    random.shuffle(std::span(drawn.order));
    return drawn;
  }

  [[nodiscard]] Trial trial(const Drawn& drawn, std::size_t position) const {
    const Unit& unit = drawn.order[position - drawn.first];
    const Block& block = drawn.block;
    return {.position = static_cast<std::uint32_t>(position),
            .block = block.number,
            .warmup = block.warmup,
            .benchmark = unit.benchmark,
            .cell = unit.cell,
            .levels = levels_of(unit, drawn.levels),
            .seed = derive(plan_.seed, purpose(block, unit.plain ? "plain trial" : "trial"),
                           {block.number, unit.benchmark, unit.cell, unit.nested}),
            .set = drawn.set,
            .plain = unit.plain};
  }

 private:
  [[nodiscard]] Block block(std::size_t number) const {
    const bool warmup = number < plan_.warmup;
    return {.number = static_cast<std::uint32_t>(warmup ? number : number - plan_.warmup),
            .warmup = warmup};
  }

  static bool runs(const Benchmark& benchmark, const Block& block) {
    return block.warmup || block.number < benchmark.repetitions;
  }

  [[nodiscard]] bool has_plain(const Benchmark& benchmark, const Block& block) const {
    if (block.warmup || plain_places_.empty()) return false;  // P2
    const auto run = run_with_plain(plan_, benchmark, block.number);
    return run && plain_places_.at(*run) == place_in_run(plan_, block.number);
  }

  [[nodiscard]] std::vector<Unit> units(const Block& block) const {
    std::vector<Unit> units;
    for (std::uint32_t b = 0; b < plan_.benchmarks.size(); ++b) {
      if (!runs(plan_.benchmarks[b], block)) continue;
      for (std::uint32_t c = 0; c < cells_.size(); ++c)
        for (std::uint32_t n = 0; n < std::max<std::size_t>(nested_[c].size(), 1); ++n)
          units.push_back({.benchmark = b, .cell = c, .nested = n});
      if (has_plain(plan_.benchmarks[b], block)) units.push_back({.benchmark = b, .plain = true});
    }
    return units;
  }

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
        levels[i] = cells_[unit.cell][treatment++];
      else if (std::holds_alternative<FixedLevels>(factor.levels))
        levels[i] = bare(fixed(factor).levels.front());
      else if (std::holds_alternative<RandomSeeds>(factor.levels))
        levels[i] = nested_[unit.cell][unit.nested];
    }
    return levels;
  }

  const Plan plan_;  // a copy, because the list may outlive the caller's plan
  std::vector<Levels> cells_;
  std::vector<Levels> nested_;  // by cell; empty if no factor is nested
  std::uint32_t measured_ = 0;
  std::vector<std::size_t> starts_;          // each block's first position, and the end
  std::vector<std::uint32_t> plain_places_;  // of each run of rounds; empty: no plain trials
};

Trials::Trials(const Plan& plan) : blocks_(std::make_shared<const Blocks>(plan)) {
  size_ = blocks_->size();
}

Trial Trials::operator[](std::size_t position) const {
  const bool known =
      drawn_ && position >= drawn_->first && position - drawn_->first < drawn_->order.size();
  if (!known) drawn_ = std::make_shared<const Drawn>(blocks_->draw(blocks_->number_at(position)));
  return blocks_->trial(*drawn_, position);
}

Trial Trials::at(std::size_t position) const {
  if (position >= size_) throw std::out_of_range("there is no such trial");
  return (*this)[position];
}

std::size_t Trials::in_block(std::uint32_t block) const {
  return blocks_->in_block(block);
}

Trials::Iterator Trials::begin() const {
  return {this, 0};
}

Trials::Iterator Trials::end() const {
  return {this, size_};
}

std::vector<std::size_t> treatments(const Plan& plan) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < plan.factors.size(); ++i)
    if (plan.factors[i].is_treatment()) indices.push_back(i);
  return indices;
}

std::uint32_t machine_of(const Plan& plan, bool warmup, std::uint32_t block) {
  const std::uint32_t machines = plan.machine_count();
  if (machines == 1) return 0;
  std::vector<std::uint32_t> order(machines);
  std::iota(order.begin(), order.end(), 0U);
  Random random(derive(plan.seed, purpose({.number = block, .warmup = warmup}, "machines"),
                       {block / machines}));
  random.shuffle(std::span(order));
  return order[block % machines];
}

std::string why_no_plain_trials(const Plan& plan) {
  if (plan.simulated) return "its trials run under a simulator and have no times";
  switch (plan.design.kind) {
    case DesignKind::nested:
    case DesignKind::padding_study:
    case DesignKind::calibration:
    case DesignKind::causal:
      return fmt::format("a {} design does not compare the cells of a block",
                         to_string(plan.design.kind));
    default:
      break;
  }
  for (const Factor& factor : plan.factors)
    if (factor.kind == FactorKind::option ||
        (factor.kind == FactorKind::layout && factor.is_treatment()))
      return fmt::format("the factor '{}' already changes what is random", factor.name);
  // No factor of the plan sets an option, so any levels will do.
  if (!randomizes(options_of(plan, std::vector<Level>(plan.factors.size()))))
    return "nothing in the layouts of its programs is random";
  return "";
}

namespace {

// The number of plain trials in the benchmark's first `blocks` measured blocks.
std::size_t plain_trials(const Plan& plan, const Benchmark& benchmark, std::uint32_t blocks) {
  if (!plan.analysis.cost) return 0;
  const std::uint32_t run = blocks_for_plain * plan.machine_count();
  std::size_t count = std::size_t{blocks / run} * plan.machine_count();
  for (std::uint32_t block = blocks / run * run; block < blocks; ++block)
    if (const auto own = run_with_plain(plan, benchmark, block);
        own && draw_plain_place(plan, *own) == place_in_run(plan, block))
      ++count;
  return count;
}

// The number of trials in warm-up blocks and in the first `most` measured blocks.
std::size_t count_within(const Plan& plan, std::uint32_t most) {
  std::size_t units = 1;  // per benchmark in a block
  if (lists_cells(plan.design.kind))
    units = plan.design.cells.size();
  else
    for (const std::size_t index : treatments(plan))
      units *= fixed(plan.factors[index]).levels.size();
  std::size_t nested = 1;
  for (const Factor& factor : plan.factors)
    if (const auto* seeds = std::get_if<RandomSeeds>(&factor.levels))
      nested = std::max<std::size_t>(nested, seeds->seeds);
  std::size_t trials = 0;
  for (const Benchmark& benchmark : plan.benchmarks) {
    const std::uint32_t blocks = std::min(benchmark.repetitions, most);
    trials += (std::size_t{plan.warmup} + blocks) * units * nested +
              plain_trials(plan, benchmark, blocks);
  }
  return trials;
}

}  // namespace

std::size_t count_trials(const Plan& plan) {
  return count_within(plan, std::numeric_limits<std::uint32_t>::max());
}

std::size_t fewest_trials(const Plan& plan) {
  return count_within(
      plan, plan.design.fewest_blocks().value_or(std::numeric_limits<std::uint32_t>::max()));
}

Expansion expand(const Plan& plan) {
  Expansion expansion{.cells = cells_of(plan), .trials = Trials(plan)};
  for (const Benchmark& benchmark : plan.benchmarks)
    expansion.blocks = std::max(expansion.blocks, benchmark.repetitions);
  return expansion;
}

namespace {

// The order of the sets in one run of blocks.
std::vector<std::uint32_t> draw_run(const Plan& plan, std::uint64_t run, bool warmup) {
  std::vector<std::uint32_t> order(plan.rotated.size());
  std::iota(order.begin(), order.end(), 0);
  Random random(derive(plan.seed, warmup ? "warmup rotate" : "rotate", {run}));
  random.shuffle(std::span(order));
  return order;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::uint32_t set_of(const Plan& plan, std::uint32_t block, bool warmup) {
  assert(!plan.rotated.empty());
  const std::size_t sets = plan.rotated.size();
  const std::uint32_t round = block / plan.machine_count();   // T3
  return draw_run(plan, round / sets, warmup)[round % sets];  // T1, T2
}

std::uint32_t blocks_of_set(const Plan& plan, std::uint32_t set, std::uint32_t blocks) {
  const auto run = static_cast<std::uint32_t>(plan.rotated.size()) * plan.machine_count();
  std::uint32_t count = blocks / run * plan.machine_count();  // T1, T3
  for (std::uint32_t block = blocks / run * run; block < blocks; ++block)
    count += set_of(plan, block, false) == set ? 1 : 0;
  return count;
}

BlocksWithNumber::BlocksWithNumber(const Plan& plan, const std::string& name)
    : plan_(plan), sets_(plan.rotated.size(), true) {
  for (const std::string& part : parts_of(plan, name)) {
    if (std::ranges::none_of(plan.rotated, [&](const auto& set) { return contains(set, part); }))
      continue;
    takes_turns_ = true;
    for (std::size_t i = 0; i < sets_.size(); ++i)
      if (!contains(plan.rotated[i], part)) sets_[i] = false;
  }
}

bool BlocksWithNumber::in_no_set() const {
  return takes_turns_ && std::ranges::none_of(sets_, [](bool has) { return has; });
}

bool BlocksWithNumber::in_block(std::uint32_t block) const {
  return !takes_turns_ || sets_[set_of(plan_, block, false)];
}

std::uint32_t BlocksWithNumber::among(std::uint32_t blocks) const {
  if (!takes_turns_) return blocks;
  std::uint32_t count = 0;
  for (std::uint32_t set = 0; set < sets_.size(); ++set)
    if (sets_[set]) count += blocks_of_set(plan_, set, blocks);
  return count;
}

std::uint32_t compared_blocks(const Plan& plan, const Benchmark& benchmark) {
  return BlocksWithNumber(plan, plan.analysis.response).among(benchmark.repetitions);
}

std::string_view why_not_by_turns(const Plan& plan) {
  if (plan.design.stop)
    return "design.stop counts blocks, and each block must measure the responses that the stopping "
           "rule checks";
  if (plan.analysis.stabilizer)
    return "method = \"stabilizer\" needs a response that every block measures";
  switch (plan.design.kind) {
    case DesignKind::calibration:
      return "all comparisons of a calibration need the same number of blocks, but some would have "
             "more than others";
    case DesignKind::nested:
    case DesignKind::padding_study:
      return "the value of a seed is computed from all runs of the seed";
    default:
      return "";
  }
}

}  // namespace stab::plan
