// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "plan/reading/testing.h"
#include "results/prediction.h"

namespace stab::results::prediction {
namespace {

using stats::Scope;
using testing::IsEmpty;
using testing::Not;

plan::Plan paired_plan(const std::string& more = "") {
  return plan::good_plan(
      "[experiment]\nname = 'x'\n[variables]\nX = ''\n[[benchmark]]\nname = 'a'\n"
      "build = 'szc ${X} -o ${OUT} a.c ${LDFLAGS}'\nrun = ['${OUT}']\n"
      "[factor.x]\nlevels = { p = { X = '' }, q = { X = '-g' } }\n" +
      more);
}

const std::string with_seeds = "[factor.link_order]\nrandom = { seeds = 5, runs = 3 }\n[design]\n";

report::Document document(bool log = true) {
  report::Document earlier;
  earlier.analysis.spec.response = "wall";
  earlier.analysis.spec.log_scale = log;
  earlier.analysis.spec.alpha = 0.05;
  return earlier;
}

// R: qt(0.975, 19) = 2.093024054.
stats::Effect effect(double half, Scope scope = Scope::subject, std::size_t units = 20) {
  return {.subject = "a",
          .scope = scope,
          .treatment = "x",
          .low = std::exp(0.1 - half),
          .high = std::exp(0.1 + half),
          .df = 19,
          .units = units};
}

TEST(Variation, OfAChangeIsTheOneItsIntervalWasMadeOf) {
  report::Document earlier = document();
  const double half = 2.093024054 * 0.02 / std::sqrt(20);
  earlier.analysis.effects = {effect(half), effect(half / 2)};
  const auto own = variation_of(earlier, paired_plan()).own;
  ASSERT_EQ(own.size(), 1U);
  EXPECT_NEAR(own.at({Scope::subject, "a", "x"}), 0.02, 1e-10);
}

TEST(Variation, OfProgramsIsKeptApartByScope) {
  report::Document earlier = document();
  earlier.analysis.effects = {effect(0.01, Scope::these), effect(0.02, Scope::like_these)};
  const auto own = variation_of(earlier, paired_plan()).own;
  EXPECT_NEAR(own.at({Scope::like_these, "a", "x"}), 2 * own.at({Scope::these, "a", "x"}), 1e-12);
}

TEST(Variation, IsUnknownWhereUnitsAreNoPairs) {
  report::Document earlier = document();
  earlier.analysis.effects = {effect(0.01, Scope::subject, 0)};
  EXPECT_THAT(variation_of(earlier, paired_plan()).own, IsEmpty());
  for (const char* unit : {"trial", "seed", "not known"}) {
    earlier.analysis.effects = {effect(0.01)};
    earlier.analysis.effects[0].unit = unit;
    EXPECT_THAT(variation_of(earlier, paired_plan()).own, IsEmpty()) << unit;
  }
}

// Blocks that resemble each other count as fewer, so there may be any number of degrees of freedom.
TEST(Variation, IsThatOfBlocksWhateverTheirDegreesOfFreedom) {
  report::Document earlier = document();
  const double half = 2.36462425 * 0.02 / std::sqrt(20);  // R: qt(0.975, 7)
  earlier.analysis.effects = {effect(half)};
  earlier.analysis.effects[0].unit = "block";
  earlier.analysis.effects[0].df = 7;
  const auto own = variation_of(earlier, paired_plan()).own;
  ASSERT_EQ(own.size(), 1U);
  EXPECT_NEAR(own.at({Scope::subject, "a", "x"}), 0.02, 1e-8);
}

TEST(Variation, OfAPaddingStudyIsOfPercentages) {
  report::Document earlier = document(false);
  earlier.analysis.effects = {effect(0)};
  earlier.analysis.effects[0].low = 0.99;
  earlier.analysis.effects[0].high = 1.03;
  const auto own = variation_of(earlier, paired_plan(with_seeds + "kind = 'padding-study'\n")).own;
  EXPECT_NEAR(own.at({Scope::subject, "a", "x"}), 0.02 / 2.093024054 * std::sqrt(20), 1e-10);
}

TEST(Variation, OfSeedsHasTwoParts) {
  report::Document earlier = document();
  earlier.analysis.components = {{.subject = "a", .between = 4e-4, .within = 1e-4},
                                 {.subject = "b", .within = 1e-4}};
  const auto seeds = variation_of(earlier, paired_plan(with_seeds + "kind = 'nested'\n")).seeds;
  ASSERT_EQ(seeds.size(), 1U);
  EXPECT_DOUBLE_EQ(seeds.at("a").between, 4e-4);
  EXPECT_DOUBLE_EQ(seeds.at("a").within, 1e-4);
}

TEST(Variation, OfTrialsIsThatOfAPooledError) {
  report::Document earlier = document();
  earlier.analysis.tables = {
      {.subject = "a", .rows = {{.term = "Residuals", .ms = 0.0004}, {.term = "x", .ms = 1}}},
      {.subject = "b", .rows = {{.stratum = "block", .term = "Residuals", .ms = 0.0004}}}};
  const auto trials = variation_of(earlier, paired_plan()).trials;
  ASSERT_EQ(trials.size(), 1U);
  EXPECT_DOUBLE_EQ(trials.at("a"), 0.02);
}

// Its intervals are wider, by as much as its looks ask for.
TEST(Variation, OfASequentialExperimentKnowsItsLooks) {
  report::Document earlier = document();
  earlier.analysis.effects = {effect(0.01)};
  earlier.stopping = {.rule = "sequential", .blocks = 20};
  EXPECT_THAT(variation_of(earlier, paired_plan()).own, IsEmpty());
  const auto plan = paired_plan("[design]\nstop = { rule = 'sequential', max = 50 }\n");
  const double looked = variation_of(earlier, plan).own.at({Scope::subject, "a", "x"});
  earlier.stopping.reset();
  EXPECT_LT(looked, variation_of(earlier, plan).own.at({Scope::subject, "a", "x"}));
}

TEST(Variation, OfAnotherResponseOrScaleTellsNothing) {
  report::Document other = document();
  other.analysis.effects = {effect(0.01)};
  EXPECT_THAT(variation_of(other, paired_plan()).own, Not(IsEmpty()));
  other.analysis.spec.response = "user";
  EXPECT_THAT(variation_of(other, paired_plan()).own, IsEmpty());
  other.analysis.spec.response = "wall";
  other.analysis.spec.log_scale = false;
  EXPECT_THAT(variation_of(other, paired_plan()).own, IsEmpty());
}

plan::Plan plan_of(const std::string& kind, const std::string& levels = "[0, 64]") {
  return plan::good_plan(R"([experiment]
name = "x"
[defaults]
repetitions = 30
[[benchmark]]
name = "a"
run = ["/bin/a"]
[[benchmark]]
name = "b"
run = ["/bin/b"]
[factor.env_bytes]
levels = )" + levels + "\n[design]\nkind = '" +
                         kind + "'\n");
}

// R: power.t.test(n = 30, sd = 0.02 * sqrt(2), sig.level = 0.05 / 2, type = "paired", power = 0.8,
// strict = TRUE, tol = 1e-13)$delta.
TEST(Detectable, OneTreatmentOfTwoLevelsInBlocksIsAPairedTestForEachBenchmark) {
  for (const char* kind : {"full-factorial", "one-way"}) {
    const auto found = detectable(plan_of(kind), {.all_trials = 0.02});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].benchmark, "a");
    EXPECT_EQ(found[0].treatment, "env_bytes");
    EXPECT_EQ(found[0].error_df, 29U);
    EXPECT_EQ(found[0].comparisons, 2U);
    EXPECT_NEAR(found[0].change, std::expm1(0.016650086258), 1e-9);
  }
}

TEST(Detectable, MoreLevelsAndAnotherVariationAreSeenToo) {
  const auto two = detectable(plan_of("one-way"), {.all_trials = 0.02});
  const auto three = detectable(plan_of("one-way", "[0, 64, 128]"), {.all_trials = 0.02});
  const auto wide = detectable(plan_of("one-way"), {.trials = {{"b", 0.04}}});
  EXPECT_GT(three.at(0).change, two.at(0).change);
  ASSERT_EQ(wide.size(), 1U);
  EXPECT_NEAR(std::log1p(wide[0].change), 2 * std::log1p(two[1].change), 1e-9);
}

TEST(Detectable, WithoutKnownVariationThereIsNothing) {
  EXPECT_THAT(detectable(plan_of("full-factorial"), {}), IsEmpty());
  EXPECT_THAT(detectable(plan_of("within-subjects"), {}), IsEmpty());
}

TEST(Detectable, WithinSubjectsEachScopeHasItsVariation) {
  const auto found =
      detectable(plan_of("within-subjects"), {.all_trials = 0.02, .benchmarks = 0.01});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].scope, stats::Scope::like_these);
  EXPECT_EQ(found[0].benchmark, "");
  EXPECT_GT(found[0].change, 0.05);  // two benchmarks say little
  EXPECT_EQ(found[1].scope, stats::Scope::these);
  EXPECT_EQ(found[1].error_df, 29U);
  EXPECT_LT(found[1].change, found[2].change / std::sqrt(2.0));
  EXPECT_EQ(found[3].benchmark, "b");
}

TEST(Detectable, WhatAComparisonVariedByTakesThePlaceOfTrials) {
  const Variation known{
      .all_trials = 0.01,
      .own = {{{stats::Scope::subject, "a", "env_bytes"}, 0.02 * std::sqrt(2.0)}}};
  const auto found = detectable(plan_of("one-way"), known);
  EXPECT_NEAR(found.at(0).change, std::expm1(0.016650086258), 1e-9);
  EXPECT_LT(found.at(1).change, found[0].change);
}

// R: power.t.test(n = 20, sd = 0.01 * sqrt(0.5), sig.level = 0.05 / 12, type = "paired", ...).
TEST(Detectable, OfTwelveComparisonsEachIsTestedAtATwelfth) {
  const std::string benchmark = "[[benchmark]]\nrun = ['/bin/true']\nname = ";
  const auto found =
      detectable(plan::good_plan(
                     "[experiment]\nname = 'x'\n[defaults]\nrepetitions = 20\n" + benchmark +
                     "'a'\n" + benchmark + "'b'\n" + benchmark + "'c'\n" + benchmark +
                     "'d'\n[factor.aslr]\nlevels = [false, true]\n[factor.env_bytes]\nlevels = [0, "
                     "64]\n[factor.heap]\nlevels = [false, true]\n"),
                 {.all_trials = 0.01});
  ASSERT_EQ(found.size(), 12U);
  for (const Detectable& each : found) EXPECT_NEAR(each.change, std::expm1(0.006580556388), 1e-9);
}

TEST(Detectable, APooledErrorHasMoreDegreesOfFreedom) {
  plan::Plan plan = plan_of("full-factorial", "[0, 64, 128]");
  const auto own = detectable(plan, {.all_trials = 0.02});
  plan.analysis.pooled = true;
  const auto pooled = detectable(plan, {.all_trials = 0.02});
  EXPECT_EQ(pooled.at(0).error_df, 58U);
  EXPECT_LT(pooled[0].change, own.at(0).change);
}

plan::Plan of_design(const std::string& repetitions, const std::string& factors,
                     const std::string& design) {
  return plan::good_plan(
      "[experiment]\nname = 'x'\n[variables]\nX = ''\n[[benchmark]]\nname = 'a'\n" + repetitions +
      "build = 'szc ${X} -o ${OUT} a.c ${LDFLAGS}'\nrun = ['${OUT}']\n" + factors + "[design]\n" +
      design);
}

const std::string flags = "[factor.x]\nlevels = { a = { X = '' }, b = { X = '-g' } }\n";

TEST(Detectable, AFractionSeesAsMuchAsACompleteDesignOfItsSize) {
  const std::string two =
      "[factor.env_bytes]\nlevels = [0, 64]\n[factor.aslr]\nlevels = [false, true]\n";
  const std::string blocks = "repetitions = 5\n";
  const auto complete =
      detectable(of_design(blocks, two, "kind = 'full-factorial'\n"), {.all_trials = 0.02});
  const auto half =
      detectable(of_design(blocks, two + flags, "kind = 'fractional'\nresolution = 3\n"),
                 {.all_trials = 0.02});
  ASSERT_EQ(complete.size(), 2U);
  ASSERT_EQ(half.size(), 3U);
  // There are three effects to correct for, not two.
  for (const Detectable& each : half) {
    EXPECT_GT(each.change, complete[0].change);
    EXPECT_LT(each.change, 1.2 * complete[0].change);
  }
}

plan::Plan padding_study() {
  return of_design("", flags + "[factor.link_padding]\nrandom = { seeds = 30, runs = 4 }\n",
                   "kind = 'padding-study'\n");
}

// R: power.t.test(n = 30, sd = 0.02 * sqrt(2), type = "paired", ...) as above, at 5 %.
TEST(Detectable, APaddingStudySeesChangesOfItsSeeds) {
  const auto known = detectable(
      padding_study(), {.own = {{{stats::Scope::subject, "a", "x"}, 0.02 * std::sqrt(2.0)}}});
  const auto guessed = detectable(padding_study(), {.all_trials = 0.04});
  ASSERT_EQ(known.size(), 1U);
  ASSERT_EQ(guessed.size(), 1U);
  EXPECT_NEAR(known[0].change, 0.01496904369, 1e-9);
  EXPECT_NEAR(guessed[0].change, 0.01496904369, 1e-9);
}

// R: power.t.test(n = 10, sd = 0.02, power = 0.8, strict = TRUE, tol = 1e-13)$delta.
TEST(Detectable, ANestedDesignComparesTheMeansOfSeeds) {
  const auto found =
      detectable(of_design("", flags + "[factor.link_padding]\nrandom = { seeds = 10, runs = 4 }\n",
                           "kind = 'nested'\n"),
                 {.seeds = {{"a", {.between = 0.0003, .within = 0.0004}}}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].sd, 0.02);
  EXPECT_EQ(found[0].error_df, 18U);
  EXPECT_NEAR(found[0].change, std::expm1(0.026498947852), 1e-9);
}

plan::Plan stopping(const std::string& stop) {
  return plan::good_plan(
      "[experiment]\nname = 'x'\n[[benchmark]]\nname = 'a'\nrun = ['/bin/a']\n"
      "[factor.env_bytes]\nlevels = [0, 64]\n[factor.aslr]\nlevels = [false, true]\n"
      "[design]\nstop = " +
      stop + "\n");
}

// With n blocks of two pairs each, sd 2 %: the half width is t(n - 1) * 0.02 / sqrt(n), with
// R's qt(1 - 0.0375 / 2, n - 1): above 0.005 at n = 71, 0.004997 at 72.
TEST(Detectable, APrecisionRuleNeedsSoManyBlocks) {
  const std::string rule = "{ rule = 'precision', half_width = '0.5%', max = ";
  const auto blocks = blocks_for_precision(stopping(rule + "100 }"), {.all_trials = 0.02});
  ASSERT_TRUE(blocks);
  EXPECT_NEAR(static_cast<double>(*blocks), 72, 1);
  EXPECT_EQ(blocks_for_precision(stopping(rule + "100 }"), {.all_trials = 0.001}), 20U);
  EXPECT_EQ(blocks_for_precision(stopping(rule + "100 }"), {}), std::nullopt);
  EXPECT_EQ(
      blocks_for_precision(stopping("{ rule = 'sequential', max = 50 }"), {.all_trials = 0.02}),
      std::nullopt);
}

// The last look of a sequential rule is tested at less than alpha, a precision rule at 0.75 alpha.
TEST(Detectable, ARuleTestsAtItsOwnLevel) {
  const auto change = [](const std::string& stop) {
    return detectable(stopping(stop), {.all_trials = 0.02}).at(0).change;
  };
  plan::Plan fixed = stopping("{ rule = 'sequential', max = 50 }");
  fixed.design.stop.reset();
  const double plain = detectable(fixed, {.all_trials = 0.02}).at(0).change;
  const double sequential = change("{ rule = 'sequential', max = 50 }");
  EXPECT_GT(sequential, plain);
  EXPECT_LT(sequential, 1.05 * plain);
  EXPECT_GT(change("{ rule = 'precision', half_width = '1%', max = 50 }"), sequential);
}

}  // namespace
}  // namespace stab::results::prediction
