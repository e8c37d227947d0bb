// SPDX-License-Identifier: MIT
#include "stats/verdicts/decide.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
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

bool is_interaction(const std::string& term, const Spec& spec) {
  std::size_t parts = 0;
  for (const auto part : std::views::split(term, ':')) {
    const std::string_view name(part);
    if (std::ranges::find(spec.treatments, name) == spec.treatments.end()) return false;
    ++parts;
  }
  return parts > 1;
}

// An interaction as a row of the table of variance and as a number. One of the two may be missing.
template <class Row, class Number>
struct Tested {
  const std::string* subject = nullptr;
  const std::string* term = nullptr;
  Scope scope = Scope::subject;
  double p = 1;
  Row* row = nullptr;
  Number* number = nullptr;
};

template <class AnyAnalysis>
auto tested_interactions(AnyAnalysis& analysis) {
  using One = Tested<std::remove_reference_t<decltype(analysis.tables.front().rows.front())>,
                     std::remove_reference_t<decltype(analysis.interactions.front())>>;
  std::vector<One> all;
  for (auto& each : analysis.interactions)
    if (each.p)
      all.push_back({.subject = &each.subject,
                     .term = &each.term,
                     .scope = each.scope,
                     .p = *each.p,
                     .number = &each});
  for (auto& table : analysis.tables)
    for (auto& row : table.rows) {
      if (!row.p || !is_interaction(row.term, analysis.spec)) continue;
      const auto known = std::ranges::find_if(all, [&](const One& one) {
        return *one.subject == table.subject && one.scope == table.scope && *one.term == row.term;
      });
      if (known != all.end())
        known->row = &row;
      else
        all.push_back({.subject = &table.subject,
                       .term = &row.term,
                       .scope = table.scope,
                       .p = *row.p,
                       .row = &row});
    }
  return all;
}

// Applies Holm's procedure in each scope.
void adjust_interactions(Analysis& analysis) {
  auto all = tested_interactions(analysis);
  std::ranges::sort(all, {}, [](const auto& each) { return each.p; });
  for (const Scope scope : {Scope::subject, Scope::these, Scope::like_these}) {
    auto open = std::ranges::count_if(all, [&](const auto& each) { return each.scope == scope; });
    double largest = 0;
    for (auto& each : all) {
      if (each.scope != scope) continue;
      largest = std::max(largest, std::min(1.0, static_cast<double>(open--) * each.p));
      if (each.row) each.row->p_adjusted = largest;
      if (each.number) each.number->p_adjusted = largest;
    }
  }
}

}  // namespace

std::size_t interactions_tested(const Analysis& analysis, Scope scope) {
  const auto all = tested_interactions(analysis);
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [&](const auto& each) { return each.scope == scope; }));
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
  if (!spec.equivalence || size == nullptr || !size->ratio || !size->low || !size->high)
    return true;
  double low = *size->low;
  double high = *size->high;
  if (spec.losses != Losses::random && (size->loss_low || size->loss_high)) {
    if (!size->loss_low || !size->loss_high) return true;
    low = std::min(low, *size->loss_low);
    high = std::max(high, *size->loss_high);
  }
  return low < 1 / (1 + *spec.equivalence) || high > 1 + *spec.equivalence;
}

namespace {

std::vector<Interplay> significant_ones(const Analysis& analysis, bool doubtful) {
  std::vector<Interplay> found;
  const auto all = tested_interactions(analysis);
  for (const auto& each : all) {
    const std::optional<double> p = each.number ? each.number->p_adjusted : each.row->p_adjusted;
    if (!p || *p >= analysis.spec.alpha) continue;
    const bool has_reason =
        (each.number && !each.number->reason.empty()) || (each.row && !each.row->reason.empty());
    if (has_reason != doubtful) continue;
    const auto is_of_scope = [&](const auto& other) { return other.scope == each.scope; };
    found.push_back({.subject = *each.subject,
                     .scope = each.scope,
                     .term = *each.term,
                     .aliases = each.row ? each.row->aliases : each.number->aliases,
                     .p_adjusted = *p,
                     .family = static_cast<std::size_t>(std::ranges::count_if(all, is_of_scope)),
                     .size = each.number});
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

}  // namespace stab::stats
