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
  analysis.effects = {with_p(0.03, 0.5), with_p(0.04, 1.2)};
  analysis.effects[0].level = "new";
  analysis.effects[1].level = "again";
  analysis.effects[1].low = 1.01;
  analysis.effects[1].high = 1.4;
  decide(analysis);
  EXPECT_DOUBLE_EQ(*analysis.effects[0].p_adjusted, 0.03);
  EXPECT_DOUBLE_EQ(*analysis.effects[1].p_adjusted, 0.04);
  EXPECT_EQ(analysis.effects[1].verdict, Verdict::slower);
  ASSERT_EQ(deciding_effects(analysis).size(), 1U);
  EXPECT_FALSE(findings(analysis).regressed);
  EXPECT_FALSE(findings(analysis).unsure);
}

// A comparison beside a control whose interval is from `low` to `high`.
Effect beside(Effect effect, std::optional<double> low, std::optional<double> high,
              double margin = 0.01) {
  Analysis analysis;
  analysis.spec.control = "again";
  analysis.spec.equivalence = margin;
  Effect control = with_p(0.5, 1);
  control.level = "again";
  control.low = low;
  control.high = high;
  effect.level = "new";
  analysis.effects = {effect, control};
  decide(analysis);
  EXPECT_EQ(analysis.effects[1].verdict, Verdict::unsure) << "a control is not asked about itself";
  return analysis.effects[0];
}

TEST(Decide, Rule1AChangeIsOneOnlyBeyondWhatTheControlReaches) {
  for (const auto& [low, high] : {std::pair(0.99, 1.05), std::pair(1 / 1.05, 1.01)}) {
    EXPECT_EQ(beside(with_p(0.001, 1.06), low, high).verdict, Verdict::slower);
    EXPECT_EQ(beside(with_p(0.001, 1 / 1.06), low, high).verdict, Verdict::faster);
    for (const double within : {1.04, 1 / 1.04}) {
      const Effect effect = beside(with_p(0.001, within), low, high);
      EXPECT_EQ(effect.verdict, Verdict::unsure);
      EXPECT_EQ(effect.held_back, within > 1 ? Verdict::slower : Verdict::faster);
      EXPECT_NEAR(effect.reach->share.value(), 0.05, 1e-12);
    }
  }
  // Its own interval is needed, too.
  EXPECT_EQ(beside(with_p(0.06, 1.5), 0.99, 1.01).verdict, Verdict::unsure);
  EXPECT_FALSE(beside(with_p(0.06, 1.5), 0.99, 1.01).held_back);
}

TEST(Decide, Rule2SameIsAVerdictOnlyIfTheControlStaysWithinTheMargin) {
  EXPECT_EQ(beside(with_p(0.5, 1.001, 0.001), 0.995, 1.009).verdict, Verdict::same);
  const Effect wide = beside(with_p(0.5, 1.001, 0.001), 0.995, 1.02);
  EXPECT_EQ(wide.verdict, Verdict::unsure);
  EXPECT_EQ(wide.held_back, Verdict::same);
}

TEST(Decide, Rule3AControlWithoutAnIntervalAllowsNoVerdict) {
  EXPECT_EQ(beside(with_p(0.001, 5), {}, {}).held_back, Verdict::slower);
  Analysis without;
  without.spec.control = "again";  // all of its trials failed
  without.effects = {with_p(0.001, 5)};
  decide(without);
  EXPECT_EQ(without.effects[0].verdict, Verdict::unsure);
  EXPECT_FALSE(decided({with_p(0.001, 5)}).effects[0].reach) << "no control was asked for";
}

TEST(Decide, ReasonsStandWhateverTheControlSays) {
  Effect known = with_p(0.5, 1);
  known.reason = "the binaries are identical";
  known.verdict = Verdict::same;
  EXPECT_EQ(beside(known, 0.5, 2).verdict, Verdict::same);
  Effect held = beside(with_p(0.001, 1.04), 0.9, 1.1);
  withhold(held, "trials lack it");
  EXPECT_FALSE(held.held_back);
}

Interaction with_interaction(double p, const std::string& term) {
  Interaction each{.subject = "s", .term = term, .ratio = 0.8};
  each.low = 0.7;
  each.high = 0.9;
  each.p = p;
  return each;
}

// As R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm"), whatever the comparisons are.
TEST(Decide, InteractionsAreAFamilyOfTheirOwn) {
  Analysis analysis;
  analysis.spec.treatments = {"a", "b", "c"};
  analysis.effects = {with_p(0.04), with_p(0.001)};
  analysis.interactions = {with_interaction(0.01, "a:b"), with_interaction(0.04, "a:c"),
                           with_interaction(0.03, "b:c"), with_interaction(0.005, "a:b:c")};
  decide(analysis);
  EXPECT_NEAR(*analysis.interactions[0].p_adjusted, 0.03, 1e-15);
  EXPECT_NEAR(*analysis.interactions[1].p_adjusted, 0.06, 1e-15);
  EXPECT_NEAR(*analysis.interactions[2].p_adjusted, 0.06, 1e-15);
  EXPECT_NEAR(*analysis.interactions[3].p_adjusted, 0.02, 1e-15);
  EXPECT_DOUBLE_EQ(*analysis.effects[0].p_adjusted, 0.04) << "comparisons keep their family";
  const auto found = interplays(analysis);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].term, "a:b:c");
  EXPECT_EQ(found[0].family, 4U);
  EXPECT_EQ(interactions_tested(analysis, Scope::subject), 4U) << "also those that are not found";
  EXPECT_EQ(interactions_tested(analysis, Scope::these), 0U);
  analysis.interactions[3].reason = "trials are missing";
  EXPECT_EQ(interplays(analysis).size(), 1U);
  EXPECT_EQ(interactions_tested(analysis, Scope::subject), 4U) << "it was tested";
}

// The tables' F decide nothing, and their rows get what the interactions have.
TEST(Decide, InteractionsOfTheTablesAreThoseThatWereTested) {
  Analysis analysis;
  analysis.spec.treatments = {"a", "b", "c"};
  analysis.spec.equivalence = 0.01;
  analysis.interactions = {with_interaction(0.004, "a:b"), {.subject = "s", .term = "a:c"}};
  analysis.interactions[1].p = 0.03;  // without a size
  AnovaTable table{.subject = "s"};
  for (const auto& [term, p] : {std::pair("a:b", 0.0001), std::pair("a:c", 0.0001),
                                std::pair("b:c", 0.0001), std::pair("a", 0.0001)}) {
    table.rows.push_back({.term = term});
    table.rows.back().p = p;
  }
  analysis.tables = {table};
  decide(analysis);
  EXPECT_NEAR(*analysis.tables[0].rows[0].p_adjusted, 0.008, 1e-15);
  EXPECT_NEAR(*analysis.interactions[0].p_adjusted, 0.008, 1e-15);
  EXPECT_NEAR(*analysis.tables[0].rows[1].p_adjusted, 0.03, 1e-15);
  EXPECT_FALSE(analysis.tables[0].rows[2].p_adjusted) << "F alone tests no interaction";
  EXPECT_FALSE(analysis.tables[0].rows[3].p_adjusted) << "one treatment is no interaction";
  auto found = interplays(analysis);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(interactions_tested(analysis, Scope::subject), 2U);
  EXPECT_TRUE(found[0].matters(analysis.spec));
  EXPECT_EQ(found[1].size, nullptr);
  EXPECT_TRUE(found[1].matters(analysis.spec)) << "it has no size";
  analysis.interactions[0].low = 0.995;
  analysis.interactions[0].high = 1.005;
  EXPECT_FALSE(interplays(analysis)[0].matters(analysis.spec)) << "within the margin";
  analysis.interactions[0].loss_low = 0.994;
  EXPECT_TRUE(interplays(analysis)[0].matters(analysis.spec)) << "missing trials may be anything";
  analysis.interactions[0].loss_high = 1.008;
  EXPECT_FALSE(interplays(analysis)[0].matters(analysis.spec)) << "within the margin with them";
  analysis.interactions[0].loss_high = 1.02;
  EXPECT_TRUE(interplays(analysis)[0].matters(analysis.spec)) << "missing trials may exceed it";
  analysis.spec.losses = Losses::random;
  EXPECT_FALSE(interplays(analysis)[0].matters(analysis.spec)) << "missing at random";
  analysis.interactions[1].reason = "trials are missing";
  ASSERT_EQ(interplays(analysis).size(), 1U);
  EXPECT_EQ(interplays(analysis)[0].term, "a:b");
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
