// SPDX-License-Identifier: MIT
#include "stabd/client/detectable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "plan/testing.h"

namespace stab::client {
namespace {

using nlohmann::json;
using testing::IsEmpty;

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

// R: power.t.test(n = 30, sd = 0.02 * sqrt(2), type = "paired", power = 0.8, strict = TRUE,
// tol = 1e-12)$delta.
TEST(Detectable, OneTreatmentOfTwoLevelsInBlocksIsAPairedTest) {
  const auto found = detectable(plan_of("full-factorial"), {.all_trials = 0.02});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].benchmark, "a");
  EXPECT_EQ(found[0].treatment, "env_bytes");
  EXPECT_NEAR(found[0].change, std::expm1(0.01496904369), 1e-9);
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
  EXPECT_THAT(detectable(plan_of("within-subjects"), {.all_trials = 0.02}), IsEmpty());
}

TEST(Detectable, WithinSubjectsTheVariationOfTheEffectCounts) {
  const auto found = detectable(plan_of("within-subjects"), {.effects = {{"env_bytes", 0.01}}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].benchmark, "");
  EXPECT_GT(found[0].change, 0.05);  // two benchmarks say little
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
  for (const Detectable& each : half) EXPECT_DOUBLE_EQ(each.change, complete[0].change);
}

plan::Plan padding_study() {
  return of_design("", flags + "[factor.link_padding]\nrandom = { seeds = 30, runs = 4 }\n",
                   "kind = 'padding-study'\n");
}

// R: power.t.test(n = 30, sd = 0.02 * sqrt(2), type = "paired", ...) as above.
TEST(Detectable, APaddingStudySeesChangesOfItsSeeds) {
  const auto known = detectable(padding_study(), {.changes = {{"a", 0.02 * std::sqrt(2.0)}}});
  const auto guessed = detectable(padding_study(), {.all_trials = 0.04});
  ASSERT_EQ(known.size(), 1U);
  ASSERT_EQ(guessed.size(), 1U);
  EXPECT_NEAR(known[0].change, 0.01496904369, 1e-9);
  EXPECT_NEAR(guessed[0].change, 0.01496904369, 1e-9);
}

TEST(Detectable, AnEarlierPaddingStudyTellsInPercent) {
  const json earlier = {
      {"analysis", {{"response", "wall"}, {"log_scale", false}}},
      {"anova",
       {{{"benchmark", "a"}, {"stratum", "link_padding:x"}, {"term", "Residuals"}, {"ms", 4.0}}}}};
  EXPECT_DOUBLE_EQ(variation_of(earlier, padding_study()).changes.at("a"), 0.02);
}

json report(const char* stratum, double ms) {
  return {
      {"analysis", {{"response", "wall"}, {"log_scale", true}}},
      {"anova", {{{"benchmark", "a"}, {"stratum", stratum}, {"term", "Residuals"}, {"ms", ms}}}},
      {"means",
       {{{"benchmark", "a"}, {"levels", {{"env_bytes", "0"}}}, {"n", 20}},
        {{"benchmark", "a"}, {"levels", {{"env_bytes", "64"}}}, {"n", 20}}}}};
}

TEST(Detectable, AnEarlierReportTellsTheVariation) {
  const plan::Plan plan = plan_of("full-factorial");
  EXPECT_DOUBLE_EQ(variation_of(report("", 0.0004), plan).trials.at("a"), 0.02);
  EXPECT_DOUBLE_EQ(*variation_of(report("Within", 0.0004), plan).all_trials, 0.02);
  EXPECT_DOUBLE_EQ(variation_of(report("benchmark:env_bytes", 0.001), plan).effects.at("env_bytes"),
                   0.01);
}

TEST(Detectable, AReportOfAnotherResponseTellsNothing) {
  json other = report("", 0.0004);
  other["analysis"]["response"] = "user";
  EXPECT_THAT(variation_of(other, plan_of("full-factorial")).trials, IsEmpty());
  EXPECT_THAT(variation_of(json::object(), plan_of("full-factorial")).trials, IsEmpty());
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
}  // namespace stab::client
