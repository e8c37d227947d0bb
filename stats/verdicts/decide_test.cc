// SPDX-License-Identifier: MIT
#include "stats/verdicts/decide.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "stats/numbers/distribution.h"

namespace stab::stats {
namespace {

Effect with_p(double p, double ratio = 0.9, std::optional<double> p_same = {}) {
  Effect effect{.subject = "s", .treatment = "opt", .ratio = ratio};
  effect.p = p;
  effect.p_same = p_same;
  return effect;
}

Analysis decided(std::vector<Effect> effects, std::size_t suite = 0) {
  Analysis analysis;
  analysis.suite = suite;
  analysis.effects = std::move(effects);
  decide(analysis);
  return analysis;
}

TEST(Decide, OneComparisonKeepsItsP) {
  const Analysis analysis = decided({with_p(0.04)});
  EXPECT_DOUBLE_EQ(*analysis.effects[0].p_adjusted, 0.04);
  EXPECT_EQ(analysis.effects[0].verdict, Verdict::faster);
}

// As R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
TEST(Decide, WithoutAMarginItIsHolms) {
  const Analysis analysis = decided({with_p(0.01), with_p(0.04), with_p(0.03), with_p(0.005)});
  EXPECT_NEAR(*analysis.effects[0].p_adjusted, 0.03, 1e-15);
  EXPECT_NEAR(*analysis.effects[1].p_adjusted, 0.06, 1e-15);
  EXPECT_NEAR(*analysis.effects[2].p_adjusted, 0.06, 1e-15);
  EXPECT_NEAR(*analysis.effects[3].p_adjusted, 0.02, 1e-15);
  EXPECT_EQ(analysis.effects[0].verdict, Verdict::faster);
  EXPECT_EQ(analysis.effects[1].verdict, Verdict::unsure);
}

// Two comparisons, four hypotheses of which two can be true: 2 p, 2 p, and 1 p only when one
// comparison has nothing left.
TEST(Decide, WithAMarginTheDivisorIsTheNumberOfComparisonsThatAreOpen) {
  const Analysis analysis = decided({with_p(0.001, 1.004, 0.002), with_p(0.3, 1.1, 0.04)});
  EXPECT_DOUBLE_EQ(*analysis.effects[0].p_adjusted, 0.002);
  EXPECT_DOUBLE_EQ(*analysis.effects[0].p_same_adjusted, 0.004);
  EXPECT_DOUBLE_EQ(*analysis.effects[1].p_same_adjusted, 0.04);
  EXPECT_DOUBLE_EQ(*analysis.effects[1].p_adjusted, 0.3);
  EXPECT_EQ(analysis.effects[0].verdict, Verdict::same);
  EXPECT_EQ(analysis.effects[1].verdict, Verdict::same);
}

// It costs the others nothing, and answers nothing.
TEST(Decide, AControlIsAFamilyByItself) {
  Analysis analysis;
  analysis.spec.control = "again";
  analysis.effects = {with_p(0.03), with_p(0.04, 1.2)};
  analysis.effects[0].level = "new";
  analysis.effects[1].level = "again";
  decide(analysis);
  EXPECT_DOUBLE_EQ(*analysis.effects[0].p_adjusted, 0.03);
  EXPECT_DOUBLE_EQ(*analysis.effects[1].p_adjusted, 0.04);
  EXPECT_EQ(analysis.effects[1].verdict, Verdict::slower);
  ASSERT_EQ(deciding_effects(analysis).size(), 1U);
  EXPECT_FALSE(findings(analysis).regressed);
  EXPECT_FALSE(findings(analysis).unsure);
}

TEST(Decide, ADirectionIsThatOfTheRatio) {
  EXPECT_EQ(decided({with_p(0.01, 1.2)}).effects[0].verdict, Verdict::slower);
  EXPECT_EQ(decided({with_p(0.01, 0.8)}).effects[0].verdict, Verdict::faster);
}

TEST(Decide, WhatHasNoPIsUnsure) {
  Effect effect = with_p(0.01);
  effect.p.reset();
  EXPECT_EQ(decided({effect}).effects[0].verdict, Verdict::unsure);
}

TEST(Decide, TheSuiteIsAFamilyOfItsOwnAndDecides) {
  Effect suite = with_p(0.04, 0.9);
  suite.subject.clear();
  suite.scope = Scope::like_these;
  const Analysis analysis = decided({with_p(0.04, 1.1), with_p(0.2), suite}, 2);
  EXPECT_EQ(analysis.effects[2].verdict, Verdict::faster);
  EXPECT_EQ(analysis.effects[0].verdict, Verdict::unsure);
  EXPECT_FALSE(findings(analysis).regressed);
}

TEST(Decide, FindingsAreOfAllEffectsThatDecide) {
  const auto found = [](const Analysis& analysis) {
    const Findings findings = stats::findings(analysis);
    return std::pair(findings.regressed, findings.unsure);
  };
  EXPECT_EQ(found(decided({with_p(0.9), with_p(0.001, 1.2)})), std::pair(true, true));
  EXPECT_EQ(found(decided({with_p(0.001, 1.2)})), std::pair(true, false));
  EXPECT_EQ(found(decided({with_p(0.9), with_p(0.001)})), std::pair(false, true));
  EXPECT_EQ(found(decided({with_p(0.001)})), std::pair(false, false));
  EXPECT_EQ(found(decided({})), std::pair(false, true));
}

double normal(Random& random) {
  const auto uniform = [&] {
    return (static_cast<double>(random.next() >> 11) + 0.5) / 9007199254740992.0;
  };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * M_PI * uniform());
}

// Five comparisons, each with a true change of 0 or of exactly the margin; estimates with standard
// error 0.5 and a margin of 2. A wrong verdict: a change where there is none, or `same` at the
// margin. With probability 0.95 there is none; 2000 rounds leave room for three standard errors.
TEST(Decide, AWrongVerdictInAFamilyIsAsRareAsAlpha) {
  constexpr int rounds = 2000;
  constexpr double df = 1e6;
  for (const int at_margin : {0, 2, 5}) {
    Random random(7);
    int wrong = 0;
    for (int round = 0; round < rounds; ++round) {
      std::vector<Effect> effects;
      for (int i = 0; i < 5; ++i) {
        const double truth = i < at_margin ? 2 : 0;
        const double estimate = truth + 0.5 * normal(random);
        const auto tail = [&](double from) {
          const double z = (estimate - from) / 0.5;
          const double both = *t_two_sided(z, df);
          return z < 0 ? both / 2 : 1 - both / 2;  // P(below)
        };
        const double same = std::max(tail(2), 1 - tail(-2));
        effects.push_back(with_p(*t_two_sided(estimate / 0.5, df), std::exp(estimate), same));
      }
      const Analysis analysis = decided(effects);
      bool any = false;
      for (int i = 0; i < 5; ++i) {
        const Verdict verdict = analysis.effects[static_cast<std::size_t>(i)].verdict;
        const bool different = verdict == Verdict::faster || verdict == Verdict::slower;
        any = any || (i < at_margin ? verdict == Verdict::same : different);
      }
      wrong += any ? 1 : 0;
    }
    EXPECT_LE(wrong, rounds * (0.05 + 3 * std::sqrt(0.05 * 0.95 / rounds))) << at_margin;
    EXPECT_GE(wrong, rounds / 100) << at_margin;  // or the test could not fail
  }
}

TEST(Decide, WhatFewerTrialsCannotTellIsLost) {
  Effect other = with_p(0.01);
  other.level = "O3";
  const Analysis all = decided({with_p(0.01), other});
  EXPECT_TRUE(lost_effects(all, all).empty());
  const auto lost = lost_effects(decided({with_p(0.9)}), all);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost[0].level, "O3");
  // Of a suite the effects over all subjects decide; what is left of it may be one subject.
  Effect suite{.scope = Scope::like_these, .treatment = "opt"};
  suite.p = 0.01;
  EXPECT_EQ(lost_effects(decided({with_p(0.01)}), decided({with_p(0.01), suite}, 2)).size(), 1U);
}

}  // namespace
}  // namespace stab::stats
