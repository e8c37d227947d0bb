// SPDX-License-Identifier: MIT
#include "bench/verdicts/world.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "stats/oracle/data.h"

namespace stab::bench {
namespace {

using stats::oracle::Normal;

// With standard deviation 1, but for t2, which has none.
class Source {
 public:
  Source(std::uint64_t seed, Noise kind) : normal_(seed), kind_(kind) {}

  double normal() { return normal_.next(); }

  double next() {
    switch (kind_) {
      case Noise::normal:
        return normal();
      case Noise::log_normal:  // of a standard normal logarithm
        return (std::exp(normal()) - std::exp(0.5)) / std::sqrt(std::exp(2.0) - std::exp(1.0));
      case Noise::bimodal:
        return (normal_.uniform() < 0.5 ? -0.95 : 0.95) + std::sqrt(1 - 0.95 * 0.95) * normal();
      case Noise::t2:
        return normal() / std::sqrt(-std::log(normal_.uniform()));
      case Noise::autocorrelated:
        last_ = 0.5 * last_ + std::sqrt(0.75) * normal();
        return last_;
      case Noise::in_cells:
        return normal();
      case Noise::outliers:
        return normal();
    }
    return 0;
  }

  // Of one block: mostly near nothing, with a long tail to one side.
  double interaction(bool skewed) {
    if (!skewed) return normal();
    return normal_.uniform() < 0.1 ? 3 : -1.0 / 3;
  }

  double uniform() { return normal_.uniform(); }

  std::size_t below(std::size_t n) {
    return std::min(n - 1, static_cast<std::size_t>(normal_.uniform() * static_cast<double>(n)));
  }

 private:
  Normal normal_;
  Noise kind_;
  double last_ = 0;
};

std::vector<std::vector<std::size_t>> cells_of(const World& world) {
  std::vector<std::vector<std::size_t>> cells{{}};
  for (const std::size_t levels : world.shape) {
    std::vector<std::vector<std::size_t>> longer;
    for (const auto& cell : cells)
      for (std::size_t level = 0; level < levels; ++level) {
        longer.push_back(cell);
        longer.back().push_back(level);
      }
    cells = std::move(longer);
  }
  // A half: the last treatment is the product of the others.
  if (world.kind == Kind::fraction)
    std::erase_if(cells, [](const auto& cell) {
      std::size_t ones = 0;
      for (std::size_t i = 0; i + 1 < cell.size(); ++i) ones += cell[i];
      return (ones + cell.size() - 1) % 2 != (cell.back() + 1) % 2;
    });
  if (world.kind == Kind::listed) cells.pop_back();
  return cells;
}

// Effects by treatment and level.
using Effects = std::vector<std::vector<double>>;

Effects draw(const World& world, Source& source, double sd, bool skewed) {
  Effects effects;
  for (const std::size_t levels : world.shape) {
    effects.emplace_back(levels);
    for (std::size_t i = 1; i < levels; ++i)
      effects.back()[i] = sd > 0 ? sd * source.interaction(skewed) : 0;
  }
  return effects;
}

std::vector<Effects> programs_of(const World& world, Source& source) {
  std::vector<Effects> all;
  for (std::size_t p = 0; p < world.programs; ++p)
    all.push_back(draw(world, source, world.between_programs, false));
  const double slow = std::log(1.2);
  for (Effects& one : all)
    for (auto& levels : one)
      for (std::size_t level = 1; world.rare_programs > 0 && level < levels.size(); ++level)
        levels[level] +=
            (source.uniform() < world.rare_programs ? slow : 0) - world.rare_programs * slow;
  // A slow machine is no part of the truth.
  const std::span<Effects> in_order(all.begin(), all.size() - (world.one_is_slow ? 1 : 0));
  for (std::size_t t = 0; world.centred && t < world.shape.size(); ++t)
    for (std::size_t level = 1; level < world.shape[t]; ++level) {
      double mean = 0;
      for (const Effects& one : in_order)
        mean += one[t][level] / static_cast<double>(in_order.size());
      for (Effects& one : in_order) one[t][level] -= mean;
    }
  for (std::size_t t = 0; world.one_is_slow && t < world.shape.size(); ++t)
    for (std::size_t level = 1; level < world.shape[t]; ++level) all.back()[t][level] += 0.1;
  return all;
}

double sum(const Effects& effects, const std::vector<std::size_t>& cell) {
  double total = 0;
  for (std::size_t t = 0; t < cell.size(); ++t) total += effects[t][cell[t]];
  return total;
}

double time_of(double log_time) {
  return 1e9 * std::exp(log_time);
}

class Writer {
 public:
  explicit Writer(const World& world) {
    for (const char* name : {"program", "block", "seed"})
      data_.columns.push_back({.name = name, .levels = {}, .codes = {}});
    for (std::size_t t = 0; t < world.shape.size(); ++t) {
      data_.columns.push_back({.name = "t" + std::to_string(t), .levels = {}, .codes = {}});
      for (std::size_t level = 0; level < world.shape[t]; ++level)
        data_.columns.back().levels.push_back("L" + std::to_string(level));
    }
    if (world.one_is_slow) data_.columns.push_back({.name = "kind", .levels = {"k"}, .codes = {}});
  }

  void add(std::size_t program, std::size_t block, std::size_t seed,
           const std::vector<std::size_t>& cell, double log_time) {
    data_.response.push_back(time_of(log_time));
    const std::size_t own[] = {program, block, seed};
    for (std::size_t i = 0; i < 3; ++i) {
      auto& column = data_.columns[i];
      while (column.levels.size() <= own[i])
        column.levels.push_back(std::to_string(column.levels.size()));
      column.codes.push_back(static_cast<std::uint32_t>(own[i]));
    }
    for (std::size_t t = 0; t < cell.size(); ++t)
      data_.columns[3 + t].codes.push_back(static_cast<std::uint32_t>(cell[t]));
    if (data_.columns.size() > 3 + cell.size()) data_.columns.back().codes.push_back(0);
  }

  stats::Dataset take() && { return std::move(data_); }

 private:
  stats::Dataset data_;
};

// The next of a series whose terms have the standard deviation of `fresh`.
void follow(Effects& last, const Effects& fresh, double correlation) {
  for (std::size_t t = 0; t < fresh.size(); ++t)
    for (std::size_t level = 0; level < fresh[t].size(); ++level)
      last[t][level] =
          correlation * last[t][level] + std::sqrt(1 - correlation * correlation) * fresh[t][level];
}

struct Trial {
  std::size_t program;
  std::size_t cell;
};

constexpr double drift = 0.02;  // of a block's speed

}  // namespace

stats::Dataset simulate(const World& world, double change, std::uint64_t seed) {
  Source source(seed, world.noise_kind);
  const auto cells = cells_of(world);
  const std::vector<Effects> programs = programs_of(world, source);
  Writer writer(world);
  // Half of a block's interaction is that of its layouts, which all programs share.
  const bool seeds = world.kind == Kind::seeds || world.kind == Kind::padding;
  const double share = world.programs > 1 && !world.machines ? std::sqrt(0.5) : 0;
  const double own = std::sqrt(1 - share * share);
  std::vector<Effects> before;
  for (std::size_t p = 0; p < world.programs; ++p)
    before.push_back(draw(world, source, world.correlation > 0 ? world.interaction : 0, false));
  std::vector<double> last(world.programs * cells.size());
  for (std::size_t block = 0; block < world.blocks; ++block) {
    const double speed = world.kind == Kind::no_blocks ? 0 : drift * source.normal();
    std::vector<double> speeds(world.programs, speed);
    if (world.machines)
      for (double& own_speed : speeds) own_speed = drift * source.normal();
    const Effects common = draw(world, source, seeds ? 0 : share * world.interaction, world.skewed);
    std::vector<Effects> acts;
    for (std::size_t p = 0; p < world.programs; ++p)
      acts.push_back(draw(world, source, seeds ? 0 : own * world.interaction, world.skewed));
    for (std::size_t p = 0; world.correlation > 0 && p < world.programs; ++p) {
      follow(before[p], acts[p], world.correlation);
      acts[p] = before[p];
    }
    for (std::size_t p = 0; world.rare > 0 && p < world.programs; ++p)
      for (auto& levels : acts[p])
        for (std::size_t level = 1; level < levels.size(); ++level)
          levels[level] += (source.uniform() < world.rare ? std::log1p(world.rare_size) : 0) -
                           (world.rare_in_mean ? world.rare * std::log1p(world.rare_size) : 0);
    // A seed's luck: in a padding study both arms have the same, and a little of their own.
    const double luck = seeds ? world.interaction * source.normal() : 0;
    std::vector<double> lucks;
    for (std::size_t c = 0; c < cells.size(); ++c)
      lucks.push_back(!seeds ? 0
                      : world.kind == Kind::seeds
                          ? world.interaction * source.normal()
                          : luck + 0.2 * world.interaction * source.normal());
    std::vector<Trial> trials;
    for (std::size_t p = 0; p < world.programs; ++p)
      for (std::size_t c = 0; c < cells.size(); ++c)
        for (std::size_t r = 0; r < world.replicates; ++r) trials.push_back({p, c});
    for (std::size_t i = trials.size(); i > 1; --i)
      std::swap(trials[i - 1], trials[source.below(i)]);
    for (const Trial& trial : trials) {
      const auto& cell = cells[trial.cell];
      // Machines of one kind are as fast; programs are not.
      double y = (world.one_is_slow ? 0 : 0.3 * static_cast<double>(trial.program % 20)) +
                 (seeds ? 0 : speeds[trial.program]) + sum(programs[trial.program], cell) +
                 (world.one_is_slow && trial.program + 1 == world.programs ? std::log(2) : 0) +
                 sum(common, cell) + sum(acts[trial.program], cell) + lucks[trial.cell];
      for (const std::size_t level : cell) y += level > 0 ? change + world.shift : 0;
      const bool wild = cell.front() + 1 == world.shape.front();
      double noise = source.next();
      if (world.noise_kind == Noise::in_cells) {
        double& latest = last[trial.program * cells.size() + trial.cell];
        noise = latest = block == 0 ? noise : 0.5 * latest + std::sqrt(0.75) * noise;
      }
      if (world.noise_kind == Noise::outliers && source.uniform() < 0.01) y += std::log(3);
      constexpr double upper_quartile = 0.674;  // of a normal distribution
      if (world.loses_slow && wild && noise > upper_quartile) continue;
      y += world.noise * (wild ? world.wild_level : 1) * noise;
      if (world.timeout > 0 && y > world.timeout) y = std::numeric_limits<double>::quiet_NaN();
      writer.add(trial.program, block, block, cell, y);
    }
  }
  return std::move(writer).take();
}

stats::Dataset first_blocks(const stats::Dataset& data, std::size_t blocks) {
  const auto& block = data.columns[1].codes;
  const auto rows =
      static_cast<std::ptrdiff_t>(std::ranges::lower_bound(block, blocks) - block.begin());
  stats::Dataset result = data;
  result.response.erase(result.response.begin() + rows, result.response.end());
  for (stats::Column& column : result.columns)
    column.codes.erase(column.codes.begin() + rows, column.codes.end());
  return result;
}

stats::Spec spec_of(const World& world) {
  stats::Spec spec;
  spec.order_drawn = true;
  spec.assumptions = false;
  for (std::size_t t = 0; t < world.shape.size(); ++t)
    spec.treatments.push_back("t" + std::to_string(t));
  spec.subject = "program";
  spec.machines = world.machines;
  if (world.one_is_slow) spec.machine_kind = "kind";
  if (world.programs > 1) spec.design = stats::Design::within_subjects;
  if (world.kind == Kind::seeds || world.kind == Kind::padding) {
    spec.design = world.kind == Kind::seeds ? stats::Design::nested : stats::Design::padding_study;
    spec.seed = "seed";
  } else if (world.kind != Kind::no_blocks) {
    spec.block = "block";
  }
  if (world.timeout > 0) spec.lost_at_least = time_of(world.timeout);
  if (world.kind == Kind::fraction)  // 2^(4-1)
    spec.chains = {{1, "t1:t2:t3"}, {2, "t0:t2:t3"}, {4, "t0:t1:t3"}, {8, "t0:t1:t2"},
                   {3, "t2:t3"},    {5, "t1:t3"},    {6, "t0:t3"}};
  return spec;
}

}  // namespace stab::bench
