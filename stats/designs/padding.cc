// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "stats/designs/assumptions.h"
#include "stats/designs/designs.h"
#include "stats/designs/effects.h"
#include "stats/designs/table.h"
#include "stats/models/own_error.h"
#include "stats/numbers/distribution.h"
#include "stats/tests/estimate.h"
#include "stats/tests/wilcoxon.h"

namespace stab::stats {
namespace {

// The seeds that both arms have, as codes, with each arm's mean times.
struct Arms {
  std::vector<std::uint32_t> seeds{};
  std::vector<SeedTrials> trials{};
  std::size_t lost = 0;  // seeds that one arm lacks
};

Arms arms_of(const Prepared& data, const Subject& subject, const Comparison& comparison) {
  std::map<std::uint32_t, SeedTrials> seeds;
  for (const Group& group : subject.groups) {
    const std::size_t level = data.levels_of(group.cell)[comparison.treatment];
    const double mean = group.raw.mean + data.scale.centre;
    if (level == comparison.base) seeds[group.seed].before = {mean};
    if (level == comparison.level) seeds[group.seed].after = {mean};
  }
  Arms arms;
  for (const auto& [seed, trials] : seeds) {
    if (trials.before.empty() || trials.after.empty()) {
      ++arms.lost;
      continue;
    }
    arms.seeds.push_back(seed);
    arms.trials.push_back(trials);
  }
  return arms;
}

Interval ratios(const Interval& percent) {
  return {.low = 1 + percent.low / 100, .high = 1 + percent.high / 100};
}

// The mean change over seeds, as a ratio to a baseline of 1.
Estimate estimate_of(const PaddingStudy& study, double noise) {
  UnitNumbers numbers;
  for (const double percent : study.percent) numbers.difference.push_back(percent / 100);
  Estimate estimate = mean_of(numbers, noise);
  estimate.base = 1;
  return estimate;
}

void fill(const Prepared& data, const PaddingStudy& study, Effect& effect) {
  const Estimate estimate = estimate_of(study, 0);
  effect.estimate = estimate;
  effect.units = estimate.units;
  effect.ratio = ratio_of(estimate);
  if (const auto wide = ratio_interval(estimate, data.spec.alpha)) {
    effect.low = wide->low;
    effect.high = wide->high;
  }
  if (const auto narrow = ratio_interval(estimate, 2 * data.spec.alpha)) {
    effect.tost_low = narrow->low;
    effect.tost_high = narrow->high;
  }
  effect.df = estimate.df;
  effect.p = p_value(estimate);
  if (data.spec.equivalence) effect.p_same = p_same(estimate, *data.spec.equivalence);
}

// Adds the tests that do not assume a normal distribution.
void add_signed_rank(const PaddingStudy& study, double alpha, Effect& effect) {
  const std::vector<double> zero(study.percent.size());
  const auto test = signed_rank(zero, study.percent, alpha);
  if (!test) return;
  Alternative result{.method = "signed-rank", .p = test->p};
  result.ratio = 1 + test->shift / 100;
  if (test->interval) {
    result.low = ratios(*test->interval).low;
    result.high = ratios(*test->interval).high;
  }
  effect.alternatives.push_back(std::move(result));
}

AnovaTable table_of(const Prepared& data, const Effect& effect, const PaddingStudy& study) {
  const Moments percent = moments(study.percent);
  const double n = static_cast<double>(percent.n);
  const std::string stratum = data.spec.seed + ":" + effect.treatment;
  AnovaTable table{.subject = effect.subject,
                   .formula = fmt::format("100 * (mean({0}[{1}]) / mean({0}[{2}]) - 1) ~ 1",
                                          data.spec.response, effect.level, effect.baseline),
                   .rows = {}};
  table.rows.push_back(
      tested_row(stratum, effect.treatment, 1, n * percent.mean * percent.mean, n - 1, percent.ss));
  table.rows.push_back(plain_row(stratum, "Residuals", n - 1, percent.ss));
  return table;
}

PaddingSeeds seeds_of(const Prepared& data, const Effect& effect, const Arms& arms,
                      const PaddingStudy& study) {
  PaddingSeeds result{.subject = effect.subject,
                      .treatment = effect.treatment,
                      .baseline = effect.baseline,
                      .level = effect.level,
                      .seeds = {},
                      .percent = study.percent};
  for (const std::uint32_t seed : arms.seeds) result.seeds.push_back(data.seeds[seed]);
  return result;
}

}  // namespace

bool is_padding_study(const Prepared& data) {
  return data.spec.design == Design::padding_study && !data.spec.seed.empty();
}

std::optional<Estimate> padding_estimate(const Prepared& data, const Subject& subject,
                                         const Comparison& comparison) {
  Arms arms = arms_of(data, subject, comparison);
  // At its lower limit a lost trial may have taken no time at all, except for rounding. That is a
  // change of -100 %.
  constexpr double rounding = 1e-9;
  for (SeedTrials& seed : arms.trials)
    for (double& after : seed.after)
      if (after <= 0 && after > -rounding * seed.before.front())
        after = std::numeric_limits<double>::min();
  const auto study = padding_study(arms.trials, data.spec.alpha);
  if (!study) return std::nullopt;
  return estimate_of(*study, 0);
}

void analyse_padding(const Prepared& data, const Subject& subject, Analysis& analysis,
                     Notes& notes) {
  for (const Comparison& comparison : comparisons(data, subject.name)) {
    const Arms arms = arms_of(data, subject, comparison);
    const Treatment& treatment = data.treatments[comparison.treatment];
    Effect effect{.subject = subject.name,
                  .treatment = treatment.name,
                  .baseline = treatment.levels[comparison.base],
                  .level = treatment.levels[comparison.level],
                  .method = "seeds of " + data.spec.seed,
                  .unit = "seed"};
    if (arms.lost > 0)
      notes.add(subject.name, fmt::format("some seeds of {} are left out, because they have trials "
                                          "in only one arm. Number of these seeds: {}.",
                                          data.spec.seed, arms.lost));
    if (const auto study = padding_study(arms.trials, data.spec.alpha)) {
      fill(data, *study, effect);
      analysis.tables.push_back(table_of(data, effect, *study));
      analysis.padding.push_back(seeds_of(data, effect, arms, *study));
      if (data.spec.assumptions) {
        add_signed_rank(*study, data.spec.alpha, effect);
        add_normality(study->percent, subject.name,
                      fmt::format("changes of the seeds of {}, in percent", data.spec.seed),
                      "the signed-rank test of the seeds' changes is still valid", analysis, notes);
      }
    } else {
      notes.add(subject.name, study.error().message + ".");
    }
    analysis.effects.push_back(std::move(effect));
  }
}

}  // namespace stab::stats
