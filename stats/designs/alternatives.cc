// SPDX-License-Identifier: MIT
#include "stats/designs/alternatives.h"

#include <algorithm>
#include <cmath>

#include "stats/tests/wilcoxon.h"

namespace stab::stats {
namespace {

constexpr std::size_t most_numbers = 2000;  // the shift takes time by the number of pairs

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

void add_stratified(const Prepared& data, const std::vector<Stratum>& strata, Effect& effect) {
  std::size_t bases = 0;
  std::size_t levels = 0;
  for (const Stratum& stratum : strata) {
    bases += stratum.base.size();
    levels += stratum.level.size();
  }
  if (strata.empty() || std::max(bases, levels) > most_numbers) return;
  const PermutationOptions options{.seed = data.spec.random_seed};
  if (strata.size() == 1)
    add(data, "rank-sum", rank_sum(strata[0].base, strata[0].level, data.spec.alpha), effect);
  else if (const auto test = stratified_rank_sum(strata, options))
    effect.alternatives.push_back({.method = "stratified rank-sum", .p = test->p});
  if (const auto test = permutation_test(strata, options)) {
    Alternative result{.method = "permutation", .p = test->p};
    scale(data, test->statistic, {}, result);
    effect.alternatives.push_back(std::move(result));
  }
}

// Whether add_stratified() would use no trials, because there are too many.
bool has_too_many(const Prepared& data, const Subject& subject, const Comparison& comparison) {
  const std::vector<Group> cells = by_cell(subject);
  const Sides pairs = sides(data, cells, comparison);
  const auto trials = [&](const std::vector<std::size_t>& side) {
    std::size_t n = 0;
    for (const std::size_t i : side) n += cells[i].y.n;
    return n;
  };
  return std::max(trials(pairs.base), trials(pairs.level)) > most_numbers;
}

}  // namespace

std::vector<Stratum> strata_of(const Prepared& data, const Subject& subject,
                               const Comparison& comparison) {
  const std::vector<Group> cells = by_cell(subject);
  const Sides pairs = sides(data, cells, comparison);
  std::vector<Stratum> strata(pairs.base.size());
  std::vector<std::vector<double>*> side(data.cells());
  for (std::size_t i = 0; i < strata.size(); ++i) {
    side[cells[pairs.base[i]].cell] = &strata[i].base;
    side[cells[pairs.level[i]].cell] = &strata[i].level;
  }
  const auto take = [&](const Group& group, double y) {
    if (side[group.cell] != nullptr) side[group.cell]->push_back(y);
  };
  if (data.spec.design == Design::nested)
    for (const Group& group : subject.groups) take(group, group.y.mean);
  else
    for (const Trial& trial : subject.trials) take(subject.groups[trial.group], trial.y);
  return strata;
}

void add_alternatives(const Prepared& data, const Subject& subject, const Comparison& comparison,
                      Effect& effect) {
  if (!effect.p) return;
  if (!data.spec.block.empty()) {
    if (effect.unit == data.spec.block && effect.units > most_numbers) return;
    const std::vector<Group> cells = by_cell(subject);
    add_unit_alternatives(data, block_numbers(subject, cells, contrast_of(data, cells, comparison)),
                          effect);
    return;
  }
  if (data.spec.design != Design::nested && has_too_many(data, subject, comparison)) return;
  add_stratified(data, strata_of(data, subject, comparison), effect);
}

void add_unit_alternatives(const Prepared& data, const UnitNumbers& numbers, Effect& effect) {
  if (!effect.p || numbers.difference.size() > most_numbers) return;
  const std::vector<double> zero(numbers.difference.size());
  add(data, "signed-rank", signed_rank(zero, numbers.difference, data.spec.alpha), effect);
}

}  // namespace stab::stats
