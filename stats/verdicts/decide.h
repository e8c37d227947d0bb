// SPDX-License-Identifier: MIT
// Decides what an analysis says: the verdicts of tested comparisons, verdicts that follow from
// facts of builds, and whether an experiment may end. All verdicts of reports, 'stabctl analyze'
// and exit codes come from here.
//
// Verdicts hold together: the probability that any verdict of a family is wrong is at most alpha.
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

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "stats/data/notes.h"
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
  const Interaction* size = nullptr;  // present if the interaction has a size
  double least_mean = 0;      // the smallest mean of the cells that the interaction is about
  bool is_dependent = false;  // a doubtful one: too few independent blocks; else missing trials

  // Returns true unless the interaction is known to be smaller than the margin of equivalence. A
  // difference of raw numbers counts as a share of the smallest mean.
  [[nodiscard]] bool matters(const Spec& spec) const;
};
// Returns the interactions whose p_adjusted is below alpha and that have no `reason`, the smallest
// p first. doubtful_interplays() returns those that have one: missing trials may have made them, or
// too few independent blocks remain.
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

// Settles comparisons by facts of their builds: some numbers belong to a build, so that more trials
// give no more of them, and some levels have builds that are the same program.

// If Spec::origin says that the numbers come from builds, comparisons whose numbers do not vary
// lose their test and interval: a fact of a build differs by exactly this amount, and it is unknown
// how a number varies that was measured once while each program was built. If builds are drawn at
// random (Spec::drawn), equal differences that are too few to count as exact in trials
// (own_error.h) say nothing about other builds, so there is no verdict. Comparisons whose numbers
// vary, because units have builds of their own, keep both, and so do statements about subjects like
// these.
void settle_of_builds(Analysis& analysis, Notes& notes);

// Gives the comparisons that the spec calls alike the verdict `same`, with the reason: levels that
// are the same program differ only by noise. These comparisons have no p, so they belong to no
// family, and other p are not corrected for them. They keep their change and its interval, which
// show how large the noise is here.
void settle_alike(Analysis& analysis, Notes& notes);

// Rules that may end an experiment early. They are asked at block boundaries only.

enum class Stop {
  go_on,
  precise,    // every interval is narrow enough
  exhausted,  // the largest number of blocks was reached
};

// The precision rule checks the half width of the interval of each ratio. It ignores the direction,
// but it tends to stop when the variance looks small by chance: 95 % intervals contain the truth in
// only 94 % of experiments that may stop from block 30 on, and in 92 % from block 5 on. So the rule
// and the report make intervals with precision_alpha(). These contain the truth as often as they
// claim if `min_blocks` is 20 or more (measured: doc/statistics.md).
inline double precision_alpha(double alpha) {
  return 0.75 * alpha;
}

struct PrecisionRule {
  double half_width = 0;  // 0.005: the ratio is known to half a percent
  std::size_t min_blocks = 20;
  std::size_t max_blocks = 0;
};

// An effect without an interval is never precise, unless it is exact. Without effects the
// experiment goes on.
Stop decide(const PrecisionRule& rule, std::size_t blocks, std::span<const Effect> effects);

}  // namespace stab::stats
