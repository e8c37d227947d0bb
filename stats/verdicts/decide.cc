// SPDX-License-Identifier: MIT
#include "stats/verdicts/decide.h"

#include <algorithm>
#include <span>
#include <utility>

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

// Whether the level needs less of the response. It takes the difference that was tested, so that
// direction and p are of one statistic.
std::optional<bool> is_less(const Effect& effect) {
  if (effect.estimate)
    return effect.estimate->difference == 0 ? std::nullopt
                                            : std::optional(effect.estimate->difference < 0);
  if (effect.difference && *effect.difference != 0) return *effect.difference < 0;
  if (effect.ratio && *effect.ratio != 1) return *effect.ratio < 1;
  return std::nullopt;
}

Verdict verdict_of(const Effect& effect, const Spec& spec) {
  if (effect.p_same_adjusted && *effect.p_same_adjusted < spec.alpha) return Verdict::same;
  const auto less = is_less(effect);
  if (!effect.p_adjusted || *effect.p_adjusted >= spec.alpha || !less) return Verdict::unsure;
  return *less != spec.higher_is_better ? Verdict::faster : Verdict::slower;
}

}  // namespace

bool is_control(const Effect& effect, const Spec& spec) {
  return !spec.control.empty() && effect.level == spec.control;
}

std::vector<std::vector<Effect*>> families_of(Analysis& analysis) {
  std::vector<std::vector<Effect*>> families;
  for (const Scope scope : {Scope::subject, Scope::these, Scope::like_these}) {
    std::vector<Effect*> family;
    for (Effect& effect : analysis.effects) {
      if (effect.scope != scope || !effect.p) continue;
      if (is_control(effect, analysis.spec))
        families.push_back({&effect});
      else
        family.push_back(&effect);
    }
    families.push_back(std::move(family));
  }
  return families;
}

void decide(Analysis& analysis) {
  for (const std::vector<Effect*>& family : families_of(analysis)) adjust(family);
  for (Effect& effect : analysis.effects)
    if (effect.reason.empty()) effect.verdict = verdict_of(effect, analysis.spec);
}

Scope deciding_scope(const Analysis& analysis) {
  if (analysis.suite == 0) return Scope::subject;
  return analysis.spec.programs == Programs::these ? Scope::these : Scope::like_these;
}

std::vector<const Effect*> deciding_effects(const Analysis& analysis) {
  std::vector<const Effect*> result;
  for (const Effect& effect : analysis.effects)
    if (effect.scope == deciding_scope(analysis) && !is_control(effect, analysis.spec))
      result.push_back(&effect);
  return result;
}

void withhold(Effect& effect, std::string why) {
  effect.verdict = Verdict::unsure;
  effect.reason = std::move(why);
  for (auto* number : {&effect.p_adjusted, &effect.p_same_adjusted, &effect.low_adjusted,
                       &effect.high_adjusted, &effect.detectable})
    number->reset();
  effect.needed.reset();
}

bool is_withheld(const Effect& effect) {
  return effect.verdict == Verdict::unsure && !effect.reason.empty();
}

bool is_same_comparison(const Effect& a, const Effect& b) {
  return a.subject == b.subject && a.scope == b.scope && a.treatment == b.treatment &&
         a.baseline == b.baseline && a.level == b.level;
}

std::vector<Effect> lost_effects(const Analysis& part, const Analysis& all) {
  std::vector<Effect> lost;
  for (const Effect* effect : deciding_effects(all))
    if (std::ranges::none_of(part.effects,
                             [&](const Effect& each) { return is_same_comparison(each, *effect); }))
      lost.push_back(*effect);
  return lost;
}

Findings findings(const Analysis& analysis) {
  const auto effects = deciding_effects(analysis);
  const auto any = [&](Verdict verdict) {
    return std::ranges::any_of(effects, [&](const Effect* e) { return e->verdict == verdict; });
  };
  return {.regressed = any(Verdict::slower), .unsure = effects.empty() || any(Verdict::unsure)};
}

}  // namespace stab::stats
