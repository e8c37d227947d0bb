// SPDX-License-Identifier: MIT
#include "stats/alternatives.h"

#include <algorithm>
#include <cmath>

#include "stats/permutation.h"
#include "stats/wilcoxon.h"

namespace stab::stats {
namespace {

constexpr std::size_t most_numbers = 2000;  // the estimated shift takes all pairs

struct Samples {
  std::vector<double> base;
  std::vector<double> level;
};

// The trials (of nested designs: the seeds' means) of both sides, less what their pair of cells has
// in common.
Samples aligned(const Prepared& data, const Subject& subject, const Comparison& comparison) {
  const std::vector<Group> cells = by_cell(subject);
  const Sides pair = sides(data, cells, comparison);
  struct Role {
    int side = 0;  // -1: base, 1: level
    double common = 0;
  };
  std::vector<Role> role(data.cells());
  for (std::size_t i = 0; i < pair.base.size(); ++i) {
    const Group& base = cells[pair.base[i]];
    const Group& level = cells[pair.level[i]];
    const double common = pair.base.size() == 1 ? 0 : (base.y.mean + level.y.mean) / 2;
    role[base.cell] = {.side = -1, .common = common};
    role[level.cell] = {.side = 1, .common = common};
  }
  Samples samples;
  const auto take = [&](const Group& group, double y) {
    const Role& own = role[group.cell];
    if (own.side != 0) (own.side < 0 ? samples.base : samples.level).push_back(y - own.common);
  };
  if (data.spec.design == Design::nested)
    for (const Group& group : subject.groups) take(group, group.y.mean);
  else
    for (const Trial& trial : subject.trials) take(subject.groups[trial.group], trial.y);
  return samples;
}

void scale(const Prepared& data, double shift, const std::optional<Interval>& interval,
           Alternative& result) {
  if (!data.scale.log) return;
  result.ratio = std::exp(shift);
  if (!interval) return;
  result.low = std::exp(interval->low);
  result.high = std::exp(interval->high);
}

void add(const Prepared& data, const char* method, const Result<RankTest>& test, Effect& effect) {
  if (!test) return;
  Alternative result{.method = method, .p = test->p};
  scale(data, test->shift, test->interval, result);
  effect.alternatives.push_back(std::move(result));
}

void add_permutation(const Prepared& data, const Samples& samples, Effect& effect) {
  const auto test = permutation_test(samples.base, samples.level, {.seed = data.spec.random_seed});
  if (!test) return;
  Alternative result{.method = "permutation", .p = test->p};
  scale(data, test->difference, {}, result);
  effect.alternatives.push_back(std::move(result));
}

}  // namespace

void add_alternatives(const Prepared& data, const Subject& subject, const Comparison& comparison,
                      Effect& effect) {
  if (!effect.p) return;
  if (!data.spec.block.empty()) {
    const std::vector<Group> cells = by_cell(subject);
    add_unit_alternatives(data, block_numbers(subject, cells, contrast_of(data, cells, comparison)),
                          effect);
    return;
  }
  const Samples samples = aligned(data, subject, comparison);
  if (samples.base.empty() || samples.base.size() > most_numbers ||
      samples.level.size() > most_numbers)
    return;
  add(data, "rank-sum", rank_sum(samples.base, samples.level, data.spec.alpha), effect);
  add_permutation(data, samples, effect);
}

void add_unit_alternatives(const Prepared& data, const UnitNumbers& numbers, Effect& effect) {
  if (!effect.p || numbers.difference.size() > most_numbers) return;
  const std::vector<double> zero(numbers.difference.size());
  add(data, "signed-rank", signed_rank(zero, numbers.difference, data.spec.alpha), effect);
}

}  // namespace stab::stats
