// SPDX-License-Identifier: MIT
#include "client/check/variation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "plan/reading/testing.h"

namespace stab::client {
namespace {

using stats::Scope;
using testing::IsEmpty;
using testing::Not;

plan::Plan plan_of(const std::string& more = "") {
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
  const auto own = variation_of(earlier, plan_of()).own;
  ASSERT_EQ(own.size(), 1U);
  EXPECT_NEAR(own.at({Scope::subject, "a", "x"}), 0.02, 1e-10);
}

TEST(Variation, OfProgramsIsKeptApartByScope) {
  report::Document earlier = document();
  earlier.analysis.effects = {effect(0.01, Scope::these), effect(0.02, Scope::like_these)};
  const auto own = variation_of(earlier, plan_of()).own;
  EXPECT_NEAR(own.at({Scope::like_these, "a", "x"}), 2 * own.at({Scope::these, "a", "x"}), 1e-12);
}

TEST(Variation, IsUnknownWhereUnitsAreNoPairs) {
  report::Document earlier = document();
  earlier.analysis.effects = {effect(0.01, Scope::subject, 0)};
  EXPECT_THAT(variation_of(earlier, plan_of()).own, IsEmpty());
}

TEST(Variation, OfAPaddingStudyIsOfPercentages) {
  report::Document earlier = document(false);
  earlier.analysis.effects = {effect(0)};
  earlier.analysis.effects[0].low = 0.99;
  earlier.analysis.effects[0].high = 1.03;
  const auto own = variation_of(earlier, plan_of(with_seeds + "kind = 'padding-study'\n")).own;
  EXPECT_NEAR(own.at({Scope::subject, "a", "x"}), 0.02 / 2.093024054 * std::sqrt(20), 1e-10);
}

TEST(Variation, OfSeedsHasTwoParts) {
  report::Document earlier = document();
  earlier.analysis.components = {{.subject = "a", .between = 4e-4, .within = 1e-4},
                                 {.subject = "b", .within = 1e-4}};
  const auto seeds = variation_of(earlier, plan_of(with_seeds + "kind = 'nested'\n")).seeds;
  ASSERT_EQ(seeds.size(), 1U);
  EXPECT_DOUBLE_EQ(seeds.at("a").between, 4e-4);
  EXPECT_DOUBLE_EQ(seeds.at("a").within, 1e-4);
}

TEST(Variation, OfTrialsIsThatOfAPooledError) {
  report::Document earlier = document();
  earlier.analysis.tables = {
      {.subject = "a", .rows = {{.term = "Residuals", .ms = 0.0004}, {.term = "x", .ms = 1}}},
      {.subject = "b", .rows = {{.stratum = "block", .term = "Residuals", .ms = 0.0004}}}};
  const auto trials = variation_of(earlier, plan_of()).trials;
  ASSERT_EQ(trials.size(), 1U);
  EXPECT_DOUBLE_EQ(trials.at("a"), 0.02);
}

// Its intervals are wider, by as much as its looks ask for.
TEST(Variation, OfASequentialExperimentKnowsItsLooks) {
  report::Document earlier = document();
  earlier.analysis.effects = {effect(0.01)};
  earlier.stopping = {.rule = "sequential", .blocks = 20};
  EXPECT_THAT(variation_of(earlier, plan_of()).own, IsEmpty());
  const auto plan = plan_of("[design]\nstop = { rule = 'sequential', max = 50 }\n");
  const double looked = variation_of(earlier, plan).own.at({Scope::subject, "a", "x"});
  earlier.stopping.reset();
  EXPECT_LT(looked, variation_of(earlier, plan).own.at({Scope::subject, "a", "x"}));
}

TEST(Variation, OfAnotherResponseOrScaleTellsNothing) {
  report::Document other = document();
  other.analysis.effects = {effect(0.01)};
  EXPECT_THAT(variation_of(other, plan_of()).own, Not(IsEmpty()));
  other.analysis.spec.response = "user";
  EXPECT_THAT(variation_of(other, plan_of()).own, IsEmpty());
  other.analysis.spec.response = "wall";
  other.analysis.spec.log_scale = false;
  EXPECT_THAT(variation_of(other, plan_of()).own, IsEmpty());
}

}  // namespace
}  // namespace stab::client
