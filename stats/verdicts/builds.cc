// SPDX-License-Identifier: MIT
#include "stats/verdicts/builds.h"

#include <fmt/format.h>

#include <algorithm>

#include "stats/verdicts/decide.h"

namespace stab::stats {
namespace {

bool is_constant(const Effect& effect) {
  return effect.reason.empty() && effect.scope != Scope::like_these && effect.estimate &&
         effect.estimate->variance == 0;
}

// Returns whether the effect's builds are a sample of many, and too few to have an error.
bool is_of_few_drawn(const Spec& spec, const Effect& effect) {
  return !effect.estimate->has_error() &&
         std::ranges::any_of(spec.drawn, [&](const DrawnBuilds& each) {
           return each.treatment == effect.treatment &&
                  (each.subject.empty() || effect.subject.empty() ||
                   each.subject == effect.subject);
         });
}

void forget_tests(Effect& effect) {
  for (auto* number : {&effect.low, &effect.high, &effect.difference_low, &effect.difference_high,
                       &effect.tost_low, &effect.tost_high, &effect.df, &effect.p, &effect.p_same})
    number->reset();
  effect.alternatives.clear();
  effect.spread.reset();
}

// Returns whether the trials of each cell are equal.
bool is_same_in_all_trials(const Analysis& analysis, const Effect& effect) {
  return std::ranges::none_of(analysis.means, [&](const CellMean& mean) {
    return (effect.subject.empty() || mean.subject == effect.subject) && mean.sd.value_or(0) > 0;
  });
}

bool is_within_margin(const Effect& effect, const Spec& spec) {
  return spec.equivalence && effect.ratio && *effect.ratio <= 1 + *spec.equivalence &&
         *effect.ratio >= 1 / (1 + *spec.equivalence);
}

void settle_exact(const Analysis& analysis, Effect& effect) {
  const Spec& spec = analysis.spec;
  const double difference = effect.estimate->difference;
  effect.exact = true;
  if (difference == 0) {
    effect.verdict = Verdict::same;
    effect.reason = fmt::format("there is no difference at all in {}", spec.response);
  } else if (is_within_margin(effect, spec)) {
    effect.verdict = Verdict::same;
    effect.reason = fmt::format("the change of {} is exactly {:+.3g} %, within {:.4g} %",
                                spec.response, 100 * (*effect.ratio - 1), 100 * *spec.equivalence);
  } else {
    effect.verdict = (difference < 0) != spec.higher_is_better ? Verdict::faster : Verdict::slower;
    effect.reason = is_same_in_all_trials(analysis, effect)
                        ? "exactly, because each level has the same value in every trial"
                        : fmt::format("exactly, because the difference is the same in every {}",
                                      effect.unit.empty() ? "trial" : effect.unit);
  }
}

}  // namespace

void settle_of_builds(Analysis& analysis, Notes& notes) {
  const Spec& spec = analysis.spec;
  if (spec.origin == Origin::trial) return;
  bool once = false;
  bool few = false;
  for (Effect& effect : analysis.effects) {
    if (!is_constant(effect)) continue;
    forget_tests(effect);
    if (spec.origin == Origin::building) {
      withhold(effect, "each level was built once, and all trials of a build share one value");
      once = true;
    } else if (is_of_few_drawn(spec, effect)) {
      withhold(effect,
               "there are too few random builds per level to say anything about other builds");
      few = true;
    } else {
      settle_exact(analysis, effect);
    }
  }
  // An interval without a width means that the numbers do not vary.
  for (Interaction& each : analysis.interactions)
    if (each.low && each.high && *each.low == *each.high)
      for (auto* number : {&each.low, &each.high, &each.p}) number->reset();
  if (once)
    notes.add(fmt::format(
        "{} was measured when a program was built, and all trials of a build share that value. If "
        "each level was built only once, the change cannot be tested, however many trials there "
        "are. Use separate builds for each block or seed (a random 'link_order' or "
        "'link_padding'), or ask for one answer over several programs.",
        spec.response));
  if (few)
    notes.add(fmt::format(
        "{} is known only for the builds that were measured. A random 'link_order' or "
        "'link_padding' can make many other builds, and fewer than five builds per "
        "level say nothing about other builds. Use five blocks or seeds ('repetitions'), or a "
        "plan without the random factor, so that builds differ only in the treatment.",
        spec.response));
}

namespace {

bool is_alike(const Spec& spec, const std::string& subject, const Effect& effect) {
  return std::ranges::any_of(spec.alike, [&](const Alike& each) {
    return each.subject == subject && each.treatment == effect.treatment &&
           ((each.first == effect.baseline && each.second == effect.level) ||
            (each.second == effect.baseline && each.first == effect.level));
  });
}

// All machines run the same program, so what is alike on each of them is alike on all.
bool is_alike(const Analysis& analysis, const Effect& effect) {
  const Spec& spec = analysis.spec;
  if (effect.scope == Scope::subject) return is_alike(spec, effect.subject, effect);
  const auto is_other = [&](const Effect& each) {
    return each.scope == Scope::subject && !is_alike(spec, each.subject, effect);
  };
  return spec.machines && analysis.suite > 0 && std::ranges::none_of(analysis.effects, is_other);
}

}  // namespace

void settle_alike(Analysis& analysis, Notes& notes) {
  for (Effect& effect : analysis.effects) {
    if (!is_alike(analysis, effect)) continue;
    effect.verdict = Verdict::same;
    effect.reason = fmt::format("the binaries at {} = {} and {} = {} are identical",
                                effect.treatment, effect.baseline, effect.treatment, effect.level);
    effect.p.reset();
    effect.p_same.reset();
    effect.df.reset();
    effect.alternatives.clear();
    notes.add(effect.subject, fmt::format("{}, so this comparison is not tested: the answer is "
                                          "'the same', and the measured change is noise.",
                                          effect.reason));
  }
}

}  // namespace stab::stats
