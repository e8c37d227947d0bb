// SPDX-License-Identifier: MIT
#include "stats/analyse/paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stats/designs/assumptions.h"
#include "stats/designs/effects.h"
#include "stats/tests/diagnostics.h"
#include "stats/tests/estimate.h"
#include "stats/tests/variances.h"
#include "stats/tests/wilcoxon.h"

namespace stab::stats {
namespace {

constexpr const char* rerandomize = "rerandomize";

// Returns a subject's trials by the level of one treatment.
std::vector<std::vector<double>> by_level(const Prepared& data, const Subject& subject,
                                          std::size_t treatment) {
  std::vector<std::vector<double>> result(data.treatments[treatment].levels.size());
  for (const Trial& trial : subject.trials)
    result[data.levels_of(subject.groups[trial.group].cell)[treatment]].push_back(trial.y);
  return result;
}

// The numbers that are compared. With blocks, each block that has both sides gives one number for
// each side; without blocks, all trials count.
struct Samples {
  bool pairs = false;
  std::vector<double> base;
  std::vector<double> level;
};

Samples samples_of(const Prepared& data, const Subject& subject, const Comparison& comparison) {
  if (data.spec.block.empty()) {
    auto levels = by_level(data, subject, comparison.treatment);
    return {.base = std::move(levels[comparison.base]),
            .level = std::move(levels[comparison.level])};
  }
  const std::vector<Group> cells = by_cell(subject);
  UnitNumbers numbers = block_numbers(subject, cells, contrast_of(data, cells, comparison));
  Samples samples{.pairs = true, .base = std::move(numbers.base), .level = {}};
  for (std::size_t i = 0; i < samples.base.size(); ++i)
    samples.level.push_back(samples.base[i] + numbers.difference[i]);
  return samples;
}

const Subject* find_subject(const Prepared& data, const std::string& name) {
  const auto found = std::ranges::find(data.subjects, name, &Subject::name);
  return found == data.subjects.end() ? nullptr : &*found;
}

bool is_normal(std::span<const double> values, double alpha) {
  const auto test = shapiro_wilk(values);
  return test && test->p >= alpha;
}

// Takes change, interval and p from the rank test. The change is the shift that the test estimates.
Effect wilcoxon_effect(const Prepared& data, const Comparison& comparison, const Samples& samples) {
  const Treatment& treatment = data.treatments[comparison.treatment];
  Effect effect{.subject = comparison.subject,
                .treatment = treatment.name,
                .baseline = treatment.levels[comparison.base],
                .level = treatment.levels[comparison.level],
                .method = samples.pairs ? "Wilcoxon signed-rank" : "Wilcoxon rank-sum",
                .unit = samples.pairs ? data.spec.block : "trial",
                .units = samples.pairs ? samples.base.size() : 0};
  const auto test = samples.pairs ? signed_rank(samples.base, samples.level, data.spec.alpha)
                                  : rank_sum(samples.base, samples.level, data.spec.alpha);
  if (!test) return effect;
  effect.p = test->p;
  effect.difference = test->shift;
  const double mean = data.scale.origin + moments(samples.base).mean;
  if (mean > 0) effect.ratio = 1 + test->shift / mean;
  if (!test->interval) return effect;
  effect.difference_low = test->interval->low;
  effect.difference_high = test->interval->high;
  if (!(mean > 0)) return effect;
  effect.low = 1 + test->interval->low / mean;
  effect.high = 1 + test->interval->high / mean;
  return effect;
}

// Takes Student's test of both sides as independent samples, as in the paper.
std::optional<Effect> student_effect(const Prepared& data, const Comparison& comparison,
                                     const Samples& samples, Notes& notes) {
  const auto estimate = student(moments(samples.base), moments(samples.level));
  if (!estimate) {
    notes.add(comparison.subject, estimate.error().message);
    return std::nullopt;
  }
  Notes unused;
  return make_effect(data, comparison, *estimate, {.method = "Student's t", .unit = "trial"},
                     unused);
}

// The paper has no test of equivalence.
void replace_test(const Prepared& data, const Subject& subject, Effect& effect, Notes& notes) {
  for (const Comparison& comparison : comparisons(data, subject.name)) {
    const Treatment& treatment = data.treatments[comparison.treatment];
    if (treatment.name != effect.treatment || treatment.levels[comparison.level] != effect.level ||
        treatment.levels[comparison.base] != effect.baseline)
      continue;
    const Samples samples = samples_of(data, subject, comparison);
    const bool normal =
        is_normal(samples.base, data.spec.alpha) && is_normal(samples.level, data.spec.alpha);
    auto replaced = normal ? student_effect(data, comparison, samples, notes)
                           : std::optional(wilcoxon_effect(data, comparison, samples));
    if (!replaced) continue;
    replaced->spread = effect.spread;
    replaced->p_same.reset();
    effect = std::move(*replaced);
    return;
  }
}

void test_levels(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes) {
  for (const std::size_t treatment : data.active()) {
    const Treatment& own = data.treatments[treatment];
    const auto samples = by_level(data, subject, treatment);
    for (std::size_t level = 0; level < samples.size(); ++level)
      add_normality(samples[level], subject.name,
                    fmt::format("trials at {} {}", own.name, own.levels[level]),
                    "the procedure uses Wilcoxon's test", analysis, notes, true);
    if (own.name != rerandomize) continue;
    if (const auto test = brown_forsythe(samples))
      analysis.assumptions.push_back({.subject = subject.name,
                                      .property = Property::equal_variances,
                                      .test = "Brown-Forsythe",
                                      .of = "trials by " + own.name,
                                      .n = subject.trials.size(),
                                      .statistic = test->f,
                                      .p = test->p,
                                      .holds = test->p >= data.spec.alpha,
                                      .instead = ""});
  }
}

}  // namespace

Spec paper_spec(Spec spec) {
  spec.method = Method::stabilizer;
  spec.log_scale = false;
  if (!spec.subject.empty()) spec.design = Design::within_subjects;
  return spec;
}

void apply_paper(const Prepared& data, Analysis& analysis, Notes& notes) {
  analysis.assumptions.clear();
  for (const Subject& subject : data.subjects) test_levels(data, subject, analysis, notes);
  for (Effect& effect : analysis.effects) {
    if (effect.scope != Scope::subject) continue;
    if (const Subject* subject = find_subject(data, effect.subject))
      replace_test(data, *subject, effect, notes);
  }
}

}  // namespace stab::stats
