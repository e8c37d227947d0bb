// SPDX-License-Identifier: MIT
#include "stats/decide.h"

#include <algorithm>
#include <vector>

namespace stab::stats {
namespace {

struct Hypothesis {
  std::size_t effect = 0;
  double p = 1;
  std::optional<double>* adjusted = nullptr;
};

void adjust(std::span<Effect* const> family) {
  std::vector<Hypothesis> all;
  std::vector<int> open(family.size());  // hypotheses of a comparison that are not rejected yet
  for (std::size_t i = 0; i < family.size(); ++i) {
    Effect& effect = *family[i];
    if (effect.p) all.push_back({i, *effect.p, &effect.p_adjusted});
    if (effect.p_same) all.push_back({i, *effect.p_same, &effect.p_same_adjusted});
    open[i] = (effect.p ? 1 : 0) + (effect.p_same ? 1 : 0);
  }
  std::ranges::sort(all, {}, &Hypothesis::p);
  double largest = 0;
  for (const Hypothesis& hypothesis : all) {
    const auto can_be_true = std::ranges::count_if(open, [](int n) { return n > 0; });
    largest = std::max(largest, std::min(1.0, static_cast<double>(can_be_true) * hypothesis.p));
    *hypothesis.adjusted = largest;
    --open[hypothesis.effect];
  }
}

Verdict verdict_of(const Effect& effect, double alpha) {
  if (effect.p_same_adjusted && *effect.p_same_adjusted < alpha) return Verdict::same;
  if (!effect.p_adjusted || *effect.p_adjusted >= alpha || !effect.ratio || *effect.ratio == 1)
    return Verdict::unsure;
  return *effect.ratio < 1 ? Verdict::faster : Verdict::slower;
}

bool is_on_suite(const Analysis& analysis, const Effect& effect) {
  return analysis.suite > 0 && effect.subject.empty();
}

}  // namespace

void decide(Analysis& analysis) {
  for (const bool suite : {false, true}) {
    std::vector<Effect*> family;
    for (Effect& effect : analysis.effects)
      if (is_on_suite(analysis, effect) == suite) family.push_back(&effect);
    adjust(family);
  }
  for (Effect& effect : analysis.effects) effect.verdict = verdict_of(effect, analysis.spec.alpha);
}

std::vector<const Effect*> deciding_effects(const Analysis& analysis) {
  std::vector<const Effect*> result;
  for (const Effect& effect : analysis.effects)
    if (analysis.suite == 0 || is_on_suite(analysis, effect)) result.push_back(&effect);
  return result;
}

Findings findings(const Analysis& analysis) {
  const auto effects = deciding_effects(analysis);
  const auto any = [&](Verdict verdict) {
    return std::ranges::any_of(effects, [&](const Effect* e) { return e->verdict == verdict; });
  };
  return {.regressed = any(Verdict::slower), .unsure = effects.empty() || any(Verdict::unsure)};
}

}  // namespace stab::stats
