// SPDX-License-Identifier: MIT
// Verdicts that hold together: over all comparisons of a family the probability of any wrong one is
// at most alpha. Reports, 'stabctl analyze' and exit codes take their verdicts from here.
//
// Each comparison has two hypotheses: "there is no difference", and, with a margin, "the difference
// is not within the margin". At most one of the two is true, so of m comparisons at most m
// hypotheses are, and Holm's procedure takes m, not 2 m, as its first divisor (Shaffer: Modified
// sequentially rejective multiple test procedures, JASA 1986). One family are the effects on the
// suite; another those on the subjects.
#pragma once

#include <optional>
#include <span>

#include "stats/analysis.h"

namespace stab::stats {

// Sets p_adjusted, p_same_adjusted and the verdict of each effect: `same` if the second hypothesis
// is rejected, else `faster` or `slower` if the first is, else `unsure`.
void decide(Analysis& analysis);

// The effects that answer the question: those on the suite, or without a suite all.
std::vector<const Effect*> deciding_effects(const Analysis& analysis);

// What exit codes are made of; both can be. Neither: all is the same or better.
struct Findings {
  bool regressed = false;  // a deciding effect is slower
  bool unsure = false;     // one is unsure, or there is none
};
Findings findings(const Analysis& analysis);

}  // namespace stab::stats
