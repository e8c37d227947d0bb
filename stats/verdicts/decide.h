// SPDX-License-Identifier: MIT
// Verdicts that hold together: the probability that any verdict of a family is wrong is at most
// alpha. All verdicts of reports, 'stabctl analyze' and exit codes come from here.
//
// Each comparison has two hypotheses: "there is no difference", and, with a margin, "the difference
// is not within the margin". At most one of the two is true, so m comparisons have at most m true
// hypotheses, and Holm's procedure takes m, not 2 m, as its first divisor (Shaffer: Modified
// sequentially rejective multiple test procedures, JASA 1986). The effects of each scope are a
// family: effects on single subjects, on these subjects together, and on subjects like these.
//
// A control has the last word. It shows how far two equal programs came out apart in the same run,
// and a verdict must not say more than that allows (doc/decisions/0031):
//   1. A change is a verdict only if it is larger than the control's interval reaches.
//   2. `same` is a verdict only if the control's interval lies within the margin.
//   3. A control without an interval allows no verdict. Without a control, rules 1 and 2 don't
//      apply.
#pragma once

#include <optional>
#include <vector>

#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Returns whether the effect compares the spec's control with the level that it repeats.
bool is_control(const Effect& effect, const Spec& spec);

// The effects of a scope that have a p are one family. Each control is a family of its own.
std::vector<std::vector<Effect*>> families_of(Analysis& analysis);
// The size of the family of interactions: the number that were tested, not the number that were
// found.
std::size_t interactions_tested(const Analysis& analysis, Scope scope);

// An interaction of treatments that is significant after the correction for its family.
struct Interplay {
  std::string subject{};
  Scope scope = Scope::subject;
  std::string term{};     // "opt:aslr"
  std::string aliases{};  // as in Effect
  double p_adjusted = 1;
  std::size_t family = 0;             // the number of interactions that were tested together
  const Interaction* size = nullptr;  // present if each treatment has two levels

  // Returns true unless the interaction is known to be smaller than the margin of equivalence.
  [[nodiscard]] bool matters(const Spec& spec) const;
};
// Returns the interactions whose p_adjusted is below alpha and that have no `reason`, the smallest p
// first. doubtful_interplays() returns those that have one: missing trials may have made them.
// Interactions of one scope are a family at alpha, apart from the comparisons (Holm's procedure);
// decide() sets their p_adjusted.
std::vector<Interplay> interplays(const Analysis& analysis);
std::vector<Interplay> doubtful_interplays(const Analysis& analysis);

// Sets p_adjusted, p_same_adjusted and the verdict of each effect that has no `reason`: `same` if
// the second hypothesis is rejected, else `faster` or `slower` if the first is, else `unsure`. Also
// sets `reach`. If the control does not allow a verdict, it becomes `unsure`, and `held_back` has
// the verdict that was not allowed.
void decide(Analysis& analysis);

// Returns the scope whose effects (apart from controls) answer the question: the spec's scope, or
// the subjects if there is no suite.
Scope deciding_scope(const Analysis& analysis);
std::vector<const Effect*> deciding_effects(const Analysis& analysis);

// Takes back the verdict, with everything that was corrected or planned for it.
void withhold(Effect& effect, std::string why);
// Returns whether the verdict is unsure for a reason other than its numbers. They may exclude no
// change.
bool is_withheld(const Effect& effect);

// Returns whether both compare the same levels of the same subject, whatever they found.
bool is_same_comparison(const Effect& a, const Effect& b);
// Returns the deciding effects of `all` that are missing in `part`, an analysis of fewer trials.
std::vector<Effect> lost_effects(const Analysis& part, const Analysis& all);

// The facts that exit codes are made of. Both may hold; if neither does, all is the same or better.
struct Findings {
  bool regressed = false;  // a deciding effect is slower
  bool unsure = false;     // a deciding effect is unsure, or there are no deciding effects
};
Findings findings(const Analysis& analysis);

}  // namespace stab::stats
