// SPDX-License-Identifier: MIT
#include "stats/verdicts/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

namespace stab::stats {
namespace {

struct Hypothesis {
  std::size_t effect = 0;
  double p = 1;
  std::optional<double>* adjusted = nullptr;
};

void adjust(std::vector<Hypothesis> all, std::size_t comparisons) {
  std::vector<int> open(comparisons);  // by comparison: hypotheses that are not rejected yet
  for (const Hypothesis& hypothesis : all) ++open[hypothesis.effect];
  std::ranges::sort(all, {}, &Hypothesis::p);
  double largest = 0;
  for (const Hypothesis& hypothesis : all) {
    const auto can_be_true = std::ranges::count_if(open, [](int n) { return n > 0; });
    largest = std::max(largest, std::min(1.0, static_cast<double>(can_be_true) * hypothesis.p));
    *hypothesis.adjusted = largest;
    --open[hypothesis.effect];
  }
}

void adjust(std::span<Effect* const> family) {
  std::vector<Hypothesis> by_units;
  std::vector<Hypothesis> by_order;
  const auto add = [](std::vector<Hypothesis>& to, std::size_t effect, std::optional<double> p,
                      std::optional<double>& adjusted) {
    if (p) to.push_back({effect, *p, &adjusted});
  };
  for (std::size_t i = 0; i < family.size(); ++i) {
    Effect& effect = *family[i];
    add(by_units, i, effect.p, effect.p_adjusted);
    add(by_units, i, effect.p_same, effect.p_same_adjusted);
    if (!effect.randomization) continue;
    add(by_order, i, effect.randomization->p_high, effect.randomization->p_adjusted);
    add(by_order, i, effect.randomization->p_same_high, effect.randomization->p_same_adjusted);
  }
  adjust(std::move(by_units), family.size());
  adjust(std::move(by_order), family.size());
}

// Returns whether the level needs less of the response. Uses the difference that was tested, so
// that direction and p belong to one statistic.
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

Reach reach_of(const Effect& control) {
  Reach reach;
  if (control.low && control.high && *control.low > 0)
    reach.share = std::max({*control.high, 1 / *control.low, 1.0}) - 1;
  if (control.difference_low && control.difference_high)
    reach.difference =
        std::max(std::abs(*control.difference_low), std::abs(*control.difference_high));
  return reach;
}

// Rule 1. An effect that can't be compared with the control is not beyond it.
bool is_beyond(const Reach& reach, const Effect& effect) {
  if (reach.share && effect.ratio && *effect.ratio > 0)
    return std::max(*effect.ratio, 1 / *effect.ratio) > 1 + *reach.share;
  return reach.difference && effect.difference && std::abs(*effect.difference) > *reach.difference;
}

// Rules 1 to 3.
bool allows(const Reach& reach, const Effect& effect, const Spec& spec) {
  if (effect.verdict != Verdict::same) return is_beyond(reach, effect);
  return reach.share && spec.equivalence && *reach.share <= *spec.equivalence;
}

// Returns the reach of the control that belongs to the effect, which may be the effect itself.
std::optional<Reach> reach_beside(const Analysis& analysis, const Effect& effect) {
  if (analysis.spec.control.empty()) return std::nullopt;
  for (const Effect& each : analysis.effects)
    if (is_control(each, analysis.spec) && each.subject == effect.subject &&
        each.scope == effect.scope && each.treatment == effect.treatment)
      return reach_of(each);
  return Reach{};
}

void ask_control(const Spec& spec, Effect& effect) {
  if (!effect.reach || effect.verdict == Verdict::unsure || !effect.reason.empty() ||
      is_control(effect, spec) || allows(*effect.reach, effect, spec))
    return;
  effect.held_back = std::exchange(effect.verdict, Verdict::unsure);
}

// Sets p_adjusted of the tables' rows that are this interaction.
void adjust_rows(Analysis& analysis, const Interaction& interaction) {
  for (AnovaTable& table : analysis.tables) {
    if (table.subject != interaction.subject || table.scope != interaction.scope) continue;
    for (AnovaRow& row : table.rows)
      if (row.term == interaction.term) row.p_adjusted = interaction.p_adjusted;
  }
}

// Applies Holm's procedure in each scope.
void adjust_interactions(Analysis& analysis) {
  std::vector<Interaction*> all;
  for (Interaction& each : analysis.interactions)
    if (each.p) all.push_back(&each);
  std::ranges::sort(all, {}, [](const Interaction* each) { return *each->p; });
  for (const Scope scope : {Scope::subject, Scope::these, Scope::like_these}) {
    std::size_t open = interactions_tested(analysis, scope);
    double largest = 0;
    for (Interaction* each : all) {
      if (each->scope != scope) continue;
      largest = std::max(largest, std::min(1.0, static_cast<double>(open--) * *each->p));
      each->p_adjusted = largest;
      adjust_rows(analysis, *each);
    }
  }
}

}  // namespace

std::size_t interactions_tested(const Analysis& analysis, Scope scope) {
  return static_cast<std::size_t>(std::ranges::count_if(
      analysis.interactions,
      [&](const Interaction& each) { return each.p && each.scope == scope; }));
}

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

bool Interplay::matters(const Spec& spec) const {
  if (!spec.equivalence || size == nullptr || !size->low || !size->high) return true;
  double low = *size->low;
  double high = *size->high;
  if (spec.losses != Losses::random && (size->loss_low || size->loss_high)) {
    if (!size->loss_low || !size->loss_high) return true;
    low = std::min(low, *size->loss_low);
    high = std::max(high, *size->loss_high);
  }
  const double margin = *spec.equivalence;
  if (size->ratio) return low < 1 / (1 + margin) || high > 1 + margin;
  // The sign depends on the order of levels, so both directions have the stricter limit.
  return std::max(std::abs(low), std::abs(high)) * (1 + margin) > margin * least_mean;
}

namespace {

// Returns the smallest mean of the subject's cells, or of all cells if the subject is "". Returns 0
// if it is not above 0.
double least_mean_of(const Analysis& analysis, const std::string& subject) {
  std::optional<double> least;
  for (const CellMean& each : analysis.means)
    if (subject.empty() || each.subject == subject)
      least = std::min(least.value_or(each.mean), each.mean);
  return std::max(0.0, least.value_or(0));
}

std::vector<Interplay> significant_ones(const Analysis& analysis, bool doubtful) {
  std::vector<Interplay> found;
  for (const Interaction& each : analysis.interactions) {
    if (!each.p || !each.p_adjusted || *each.p_adjusted >= analysis.spec.alpha) continue;
    if (each.reason.empty() == doubtful) continue;
    found.push_back({.subject = each.subject,
                     .scope = each.scope,
                     .term = each.term,
                     .aliases = each.aliases,
                     .p_adjusted = *each.p_adjusted,
                     .family = interactions_tested(analysis, each.scope),
                     .size = each.has_size() ? &each : nullptr,
                     .least_mean = least_mean_of(analysis, each.subject),
                     .is_dependent = doubtful && each.few_independent.has_value()});
  }
  std::ranges::sort(found, {}, [](const Interplay& each) {
    return std::tie(each.p_adjusted, each.subject, each.term);
  });
  return found;
}

}  // namespace

std::vector<Interplay> interplays(const Analysis& analysis) {
  return significant_ones(analysis, false);
}

std::vector<Interplay> doubtful_interplays(const Analysis& analysis) {
  return significant_ones(analysis, true);
}

void decide(Analysis& analysis) {
  for (const std::vector<Effect*>& family : families_of(analysis)) adjust(family);
  for (Effect& effect : analysis.effects)
    if (effect.reason.empty()) effect.verdict = verdict_of(effect, analysis.spec);
  for (Effect& effect : analysis.effects) effect.reach = reach_beside(analysis, effect);
  for (Effect& effect : analysis.effects) ask_control(analysis.spec, effect);
  adjust_interactions(analysis);
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
  effect.held_back.reset();
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
    effect.reason =
        fmt::format("the change of {} is exactly {:+.3g} %, which is within the margin of {:.4g} %",
                    spec.response, 100 * (*effect.ratio - 1), 100 * *spec.equivalence);
  } else {
    effect.verdict = (difference < 0) != spec.higher_is_better ? Verdict::faster : Verdict::slower;
    effect.reason =
        is_same_in_all_trials(analysis, effect)
            ? "the change is exact, because all trials of a level have the same value"
            : fmt::format("the change is exact, because the difference is the same in every {}",
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
        "'link_padding' can make many other builds, and fewer than five builds per level are too "
        "few to say anything about the others. Use five blocks or seeds ('repetitions'), or a plan "
        "without the random factor. Without this factor, builds differ only in the treatment.",
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

Stop decide(const PrecisionRule& rule, std::size_t blocks, std::span<const Effect> effects) {
  const bool precise = !effects.empty() && std::ranges::all_of(effects, [&](const Effect& effect) {
    if (effect.exact) return true;
    return effect.low && effect.high && (*effect.high - *effect.low) / 2 <= rule.half_width;
  });
  if (precise && blocks >= rule.min_blocks) return Stop::precise;
  return blocks >= rule.max_blocks ? Stop::exhausted : Stop::go_on;
}

}  // namespace stab::stats
