// SPDX-License-Identifier: MIT
#include "client/check/variation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "plan/reading/testing.h"

namespace stab::client {
namespace {

using nlohmann::json;
using stats::Scope;
using testing::IsEmpty;

plan::Plan plan_of(const std::string& more = "") {
  return plan::good_plan(
      "[experiment]\nname = 'x'\n[variables]\nX = ''\n[[benchmark]]\nname = 'a'\n"
      "build = 'szc ${X} -o ${OUT} a.c ${LDFLAGS}'\nrun = ['${OUT}']\n"
      "[factor.x]\nlevels = { p = { X = '' }, q = { X = '-g' } }\n" +
      more);
}

const std::string with_seeds = "[factor.link_order]\nrandom = { seeds = 5, runs = 3 }\n[design]\n";

json report(bool log = true) {
  return {{"analysis", {{"response", "wall"}, {"log_scale", log}, {"alpha", 0.05}}},
          {"effects", json::array()}};
}

// R: qt(0.975, 19) = 2.093024054.
json effect(double half, const char* programs = nullptr, double units = 20) {
  return {{"benchmark", "a"},
          {"programs", programs == nullptr ? json() : json(programs)},
          {"treatment", "x"},
          {"low", std::exp(0.1 - half)},
          {"high", std::exp(0.1 + half)},
          {"df", 19},
          {"units", units}};
}

TEST(Variation, OfAChangeIsTheOneItsIntervalWasMadeOf) {
  json earlier = report();
  const double half = 2.093024054 * 0.02 / std::sqrt(20);
  earlier["effects"] = json::array({effect(half), effect(half / 2)});
  const auto own = variation_of(earlier, plan_of()).own;
  ASSERT_EQ(own.size(), 1U);
  EXPECT_NEAR(own.at({Scope::subject, "a", "x"}), 0.02, 1e-10);
}

TEST(Variation, OfProgramsIsKeptApartByScope) {
  json earlier = report();
  earlier["effects"] = json::array({effect(0.01, "these"), effect(0.02, "like-these")});
  const auto own = variation_of(earlier, plan_of()).own;
  EXPECT_NEAR(own.at({Scope::like_these, "a", "x"}), 2 * own.at({Scope::these, "a", "x"}), 1e-12);
}

TEST(Variation, IsUnknownWhereUnitsAreNoPairs) {
  json earlier = report();
  earlier["effects"] = json::array({effect(0.01, nullptr, 0)});
  EXPECT_THAT(variation_of(earlier, plan_of()).own, IsEmpty());
}

TEST(Variation, OfAPaddingStudyIsOfPercentages) {
  json earlier = report(false);
  json change = effect(0);
  change["low"] = 0.99;
  change["high"] = 1.03;
  earlier["effects"] = json::array({change});
  const auto own = variation_of(earlier, plan_of(with_seeds + "kind = 'padding-study'\n")).own;
  EXPECT_NEAR(own.at({Scope::subject, "a", "x"}), 0.02 / 2.093024054 * std::sqrt(20), 1e-10);
}

TEST(Variation, OfSeedsHasTwoParts) {
  json earlier = report();
  earlier["variance_components"] = {{{"benchmark", "a"}, {"between", 4e-4}, {"within", 1e-4}},
                                    {{"benchmark", "b"}, {"between", nullptr}, {"within", 1e-4}}};
  const auto seeds = variation_of(earlier, plan_of(with_seeds + "kind = 'nested'\n")).seeds;
  ASSERT_EQ(seeds.size(), 1U);
  EXPECT_DOUBLE_EQ(seeds.at("a").between, 4e-4);
  EXPECT_DOUBLE_EQ(seeds.at("a").within, 1e-4);
}

TEST(Variation, OfTrialsIsThatOfAPooledError) {
  json earlier = report();
  earlier["anova"] = {
      {{"benchmark", "a"}, {"stratum", ""}, {"term", "Residuals"}, {"ms", 0.0004}},
      {{"benchmark", "b"}, {"stratum", "block"}, {"term", "Residuals"}, {"ms", 0.0004}}};
  const auto trials = variation_of(earlier, plan_of()).trials;
  ASSERT_EQ(trials.size(), 1U);
  EXPECT_DOUBLE_EQ(trials.at("a"), 0.02);
}

// Its intervals are wider, by as much as its looks ask for.
TEST(Variation, OfASequentialExperimentKnowsItsLooks) {
  json earlier = report();
  earlier["effects"] = json::array({effect(0.01)});
  earlier["stopping"] = {{"rule", "sequential"}, {"blocks", 20}};
  EXPECT_THAT(variation_of(earlier, plan_of()).own, IsEmpty());
  const auto plan = plan_of("[design]\nstop = { rule = 'sequential', max = 50 }\n");
  const double looked = variation_of(earlier, plan).own.at({Scope::subject, "a", "x"});
  earlier.erase("stopping");
  EXPECT_LT(looked, variation_of(earlier, plan).own.at({Scope::subject, "a", "x"}));
}

TEST(Variation, OfAnotherResponseOrScaleTellsNothing) {
  json other = report();
  other["effects"] = json::array({effect(0.01)});
  other["analysis"]["response"] = "user";
  EXPECT_THAT(variation_of(other, plan_of()).own, IsEmpty());
  other["analysis"] = {{"response", "wall"}, {"log_scale", false}, {"alpha", 0.05}};
  EXPECT_THAT(variation_of(other, plan_of()).own, IsEmpty());
  EXPECT_THAT(variation_of(json::object(), plan_of()).own, IsEmpty());
}

}  // namespace
}  // namespace stab::client
