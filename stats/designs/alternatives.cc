// SPDX-License-Identifier: MIT
#include "stats/designs/alternatives.h"

#include <algorithm>
#include <cmath>

#include "stats/designs/effects.h"
#include "stats/tests/randomization.h"
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

namespace {

bool has_drawn_order(const Prepared& data, const Effect& effect) {
  const Spec& spec = data.spec;
  return spec.order_drawn && spec.origin == Origin::trial && spec.method == Method::standard &&
         spec.chains.empty() && effect.estimate && effect.estimate->has_error() && effect.p;
}

RandomizationOptions options_of(const Prepared& data, std::size_t family,
                                const Estimate& estimate) {
  RandomizationOptions options{.seed = data.spec.random_seed, .alpha = data.level(data.spec.alpha)};
  // The first step of a family's correction compares p with alpha / family, the last step with
  // alpha.
  if (family > 1)
    options.limits.push_back(data.level(data.spec.alpha / static_cast<double>(family)));
  options.limits.push_back(data.level(data.spec.alpha));
  if (const auto margin = data.spec.equivalence; margin && estimate.has_ratio()) {
    options.margin = Interval{.low = -std::log1p(*margin), .high = std::log1p(*margin)};
    if (!estimate.log)
      options.margin = Interval{.low = *estimate.base * (1 / (1 + *margin) - 1),
                                .high = *estimate.base * *margin};
  }
  return options;
}

std::optional<double> as_ratio_of(const Estimate& estimate, double difference) {
  if (!estimate.has_ratio()) return std::nullopt;
  return estimate.log ? std::exp(difference) : 1 + difference / *estimate.base;
}

void set(const Prepared& data, const RandomizationTest& test, Effect& effect) {
  const auto one_sided = [&](double p) {
    return data.repeated ? data.repeated->one_sided_p(p) : p;
  };
  Randomization result{.units = test.units,
                       .draws = test.draws,
                       .all = test.all,
                       .seed = data.spec.random_seed,
                       .p = data.p(test.differs.p).value_or(1),
                       .p_low = data.p(test.differs.low).value_or(1),
                       .p_high = data.p(test.differs.high).value_or(1),
                       .least = data.p(test.least).value_or(1),
                       .settled = test.settled};
  if (test.same) {
    result.p_same = one_sided(test.same->p);
    result.p_same_high = one_sided(test.same->high);
  }
  if (test.interval) {
    result.low = as_ratio_of(*effect.estimate, test.interval->low);
    result.high = as_ratio_of(*effect.estimate, test.interval->high);
  }
  effect.randomization = result;
}

void describe(const Prepared& data, const UnitNumbers& numbers, Effect& effect) {
  const Moments all = moments(numbers.difference);
  const double n = static_cast<double>(all.n);
  if (all.n < 3 || !(all.ss > n * data.noise)) return;
  double cubes = 0;
  std::size_t farthest = 0;
  for (std::size_t i = 0; i < numbers.difference.size(); ++i) {
    const double distance = numbers.difference[i] - all.mean;
    cubes += distance * distance * distance;
    if (std::abs(distance) > std::abs(numbers.difference[farthest] - all.mean)) farthest = i;
  }
  const double sd = std::sqrt(all.ss / n);
  Randomization& result = *effect.randomization;
  result.skewness = cubes / n / (sd * sd * sd);
  if (numbers.units[farthest] < data.blocks.size())
    result.influential = data.blocks[numbers.units[farthest]];
  result.without =
      as_ratio_of(*effect.estimate, (n * all.mean - numbers.difference[farthest]) / (n - 1));
}

}  // namespace

void add_randomization(const Prepared& data, const UnitNumbers& numbers, std::size_t family,
                       Effect& effect) {
  // A median needs no second test. Both orders of two levels in a block are equally likely, so if
  // the levels do nothing, each difference has either sign with probability 1/2, as in the sign
  // test. For dependent blocks the sign test only counts fewer of them.
  if (!has_drawn_order(data, effect) || effect.estimate->ordered) return;
  RandomizationOptions options = options_of(data, family, *effect.estimate);
  if (effect.estimand == Estimand::typical) options.share = trimmed_share;
  std::vector<double> in_time = numbers.difference;
  if (!data.block_rank.empty()) {
    std::vector<std::size_t> order(in_time.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return data.block_rank[numbers.units[i]]; });
    for (std::size_t i = 0; i < order.size(); ++i) in_time[i] = numbers.difference[order[i]];
  }
  const auto test = test_signs(in_time, options);
  if (!test) return;
  set(data, *test, effect);
  describe(data, numbers, effect);
}

void add_randomization(const Prepared& data, const Subject& subject, const Comparison& comparison,
                       std::size_t family, Effect& effect) {
  if (!has_drawn_order(data, effect)) return;
  const auto test =
      test_deals(strata_of(data, subject, comparison), options_of(data, family, *effect.estimate));
  if (test) set(data, *test, effect);
}

}  // namespace stab::stats
