// SPDX-License-Identifier: MIT
#include "stats/paper.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "stats/answer.h"
#include "stats/assumptions.h"
#include "stats/effects.h"
#include "stats/equal_variances.h"
#include "stats/normality.h"
#include "stats/student.h"
#include "stats/wilcoxon.h"

namespace stab::stats {
namespace {

constexpr const char* rerandomize = "rerandomize";

// A subject's trials by the level of one treatment, in the dataset's order; with blocks in theirs.
std::vector<std::vector<double>> by_level(const Prepared& data, const Subject& subject,
                                          std::size_t treatment) {
  std::vector<std::vector<double>> result(data.treatments[treatment].levels.size());
  const auto level = [&](const Group& group) { return data.levels_of(group.cell)[treatment]; };
  std::vector<std::size_t> order(subject.trials.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    return std::pair(subject.groups[subject.trials[i].group].block, i);
  });
  for (const std::size_t i : order) {
    const Trial& trial = subject.trials[i];
    result[level(subject.groups[trial.group])].push_back(trial.y);
  }
  return result;
}

const Subject* find_subject(const Prepared& data, const std::string& name) {
  const auto found = std::ranges::find(data.subjects, name, &Subject::name);
  return found == data.subjects.end() ? nullptr : &*found;
}

bool is_normal(std::span<const double> values, double alpha) {
  const auto test = shapiro_wilk(values);
  return test && test->p >= alpha;
}

void use_wilcoxon(const Prepared& data, std::span<const double> base, std::span<const double> level,
                  Effect& effect) {
  const bool pairs = !data.spec.block.empty() && base.size() == level.size();
  const auto test =
      pairs ? signed_rank(base, level, data.spec.alpha) : rank_sum(base, level, data.spec.alpha);
  effect.method = pairs ? "Wilcoxon signed-rank" : "Wilcoxon rank-sum";
  effect.p.reset();
  effect.df.reset();
  if (test) effect.p = test->p;
  const double mean = data.scale.origin + moments(base).mean;
  effect.low.reset();
  effect.high.reset();
  if (!test || !test->interval || !(mean > 0)) return;
  effect.low = 1 + test->interval->low / mean;
  effect.high = 1 + test->interval->high / mean;
}

void use_student(const Prepared& data, const Comparison& comparison, std::span<const double> base,
                 std::span<const double> level, Effect& effect, Notes& notes) {
  const auto estimate = student(moments(base), moments(level));
  if (!estimate) {
    notes.add(effect.subject, estimate.error().message);
    return;
  }
  Notes unused;
  effect = make_effect(data, comparison, *estimate, "Student's t", unused);
}

void replace_test(const Prepared& data, const Subject& subject, Effect& effect, Notes& notes) {
  for (const Comparison& comparison : comparisons(data, subject.name)) {
    const Treatment& treatment = data.treatments[comparison.treatment];
    if (treatment.name != effect.treatment || treatment.levels[comparison.level] != effect.level)
      continue;
    const auto samples = by_level(data, subject, comparison.treatment);
    const auto& base = samples[comparison.base];
    const auto& level = samples[comparison.level];
    const bool normal = is_normal(base, data.spec.alpha) && is_normal(level, data.spec.alpha);
    const auto spread = effect.spread;
    if (normal)
      use_student(data, comparison, base, level, effect, notes);
    else
      use_wilcoxon(data, base, level, effect);
    effect.alternatives.clear();
    // The paper knows no equivalence.
    effect.p_same.reset();
    effect.spread = spread;
  }
}

void test_levels(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes) {
  for (const std::size_t treatment : data.active()) {
    const Treatment& own = data.treatments[treatment];
    const auto samples = by_level(data, subject, treatment);
    for (std::size_t level = 0; level < samples.size(); ++level)
      add_normality(samples[level], subject.name,
                    fmt::format("trials at {} {}", own.name, own.levels[level]),
                    "Wilcoxon's test, which the procedure uses then", analysis, notes);
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
    if (effect.subject.empty() && analysis.suite > 0) continue;
    if (const Subject* subject = find_subject(data, effect.subject))
      replace_test(data, *subject, effect, notes);
  }
}

}  // namespace stab::stats
