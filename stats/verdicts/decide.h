// SPDX-License-Identifier: MIT
// Verdicts that hold together: the probability that any verdict of a family is wrong is at most
// alpha. All verdicts of reports, 'stabctl analyze' and exit codes come from here.
//
// Each comparison has two hypotheses: "there is no difference", and, with a margin, "the difference
// is not within the margin". At most one of the two is true, so of m comparisons at most m
// hypotheses are, and Holm's procedure takes m, not 2 m, as its first divisor (Shaffer: Modified
// sequentially rejective multiple test procedures, JASA 1986). The effects of each scope are a
// family: those on subjects, on these subjects together, and on subjects like these.
//
// A control has the last word. It shows how far two equal programs came out apart in the same run,
// and a verdict must not say more than that allows (doc/decisions/0031):
//   1. A change is a verdict only if it is larger than the control's interval reaches.
//   2. `same` is a verdict only if the control's interval lies within the margin.
//   3. A control without an interval allows no verdict. A run without a control has neither rule.
#pragma once

#include <optional>
#include <vector>

#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Whether it compares the control of the spec with what it repeats.
bool is_control(const Effect& effect, const Spec& spec);

// Those of a scope that have a p are corrected for each other; a control is alone.
std::vector<std::vector<Effect*>> families_of(Analysis& analysis);

// An interaction of treatments that is there, after the correction for all of its family.
struct Interplay {
  std::string subject{};
  Scope scope = Scope::subject;
  std::string term{};     // "opt:aslr"
  std::string aliases{};  // as in Effect
  double p_adjusted = 1;
  std::size_t family = 0;             // interactions that were tested together
  const Interaction* size = nullptr;  // where each treatment has two levels

  // Not known to be smaller than the margin of equivalence.
  [[nodiscard]] bool matters(const Spec& spec) const;
};
// Those whose p_adjusted is below alpha, the surest first. Interactions of one scope are a family
// at alpha, apart from the comparisons (Holm's procedure); decide() sets their p_adjusted.
std::vector<Interplay> interplays(const Analysis& analysis);

// Sets p_adjusted, p_same_adjusted and the verdict of each effect that has no `reason`: `same` if
// the second hypothesis is rejected, else `faster` or `slower` if the first is, else `unsure`. Sets
// `reach`, too: where the control does not allow the verdict it is `unsure`, and `held_back` is it.
void decide(Analysis& analysis);

// The scope whose effects answer the question, but for controls: that of the spec, but without a
// suite the subjects.
Scope deciding_scope(const Analysis& analysis);
std::vector<const Effect*> deciding_effects(const Analysis& analysis);

// Takes back the verdict, with what was corrected or planned for it.
void withhold(Effect& effect, std::string why);
// Whether it is unsure for another reason than its numbers: these may well exclude no change.
bool is_withheld(const Effect& effect);

// Whether both compare the same levels of the same subject, whatever they found.
bool is_same_comparison(const Effect& a, const Effect& b);
// The deciding effects of `all` that `part`, an analysis of fewer trials, has lost.
std::vector<Effect> lost_effects(const Analysis& part, const Analysis& all);

// What exit codes are made of. Both may hold; if neither does, all is the same or better.
struct Findings {
  bool regressed = false;  // a deciding effect is slower
  bool unsure = false;     // one is unsure, or there is none
};
Findings findings(const Analysis& analysis);

}  // namespace stab::stats
