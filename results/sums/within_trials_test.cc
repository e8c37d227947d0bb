// SPDX-License-Identifier: MIT
#include "results/sums/within_trials.h"

#include <gtest/gtest.h>

#include <cmath>

namespace stab::results {
namespace {

plan::Plan plan_on(bool log_scale) {
  plan::Plan plan;
  plan.analysis.response = "time";
  plan.analysis.log_scale = log_scale;
  plan.analysis.alpha = 0.05;
  return plan;
}

store::Trial trial_with(std::vector<double> values) {
  store::Trial trial;
  trial.benchmark = "sort";
  trial.samples = {{.measure = "time", .subject = "BM_a", .values = std::move(values)},
                   {.measure = "other", .values = {1, 100}},
                   {.measure = "time", .subject = "BM_absent", .reason = "no keys"}};
  return trial;
}

// By hand: means 10, 12, 11 and, in the other cell, 20, 23. With two samples each, whose sums of
// squares are 2, the mean square within is 2 and that between trials is 2 (2 + 4.5) / 3.
TEST(SampleSums, TellsTheVarianceWithinTrialsFromThatBetweenThem) {
  SampleSums sums(plan_on(false));
  for (const double mean : {10, 12, 11}) sums.add(trial_with({mean - 1, mean + 1}), "sort a=1");
  for (const double mean : {20, 23}) sums.add(trial_with({mean - 1, mean + 1}), "sort a=2");
  const auto result = sums.result();
  ASSERT_EQ(result.size(), 1U);
  EXPECT_EQ(result[0].subject, "sort/BM_a");
  EXPECT_EQ(result[0].samples, 2);
  EXPECT_NEAR(result[0].within, 2, 1e-12);
  const double between = (2 * 6.5 / 3 - 2) / 2;
  EXPECT_NEAR(result[0].between, between, 1e-9);
  EXPECT_NEAR(result[0].share.value(), 1 / (1 + between), 1e-9);
  EXPECT_LT(result[0].between_low, between);
  EXPECT_GT(result[0].between_high, between);
  EXPECT_LT(result[0].within_low, 2);
  EXPECT_GT(result[0].within_high, 2);
}

TEST(SampleSums, IsOnTheScaleOfTheComparison) {
  SampleSums raw(plan_on(false));
  SampleSums logs(plan_on(true));
  for (const std::vector<double>& values :
       {std::vector<double>{1, 2}, std::vector<double>{3, 5}, std::vector<double>{2, 2}}) {
    raw.add(trial_with(values), "c");
    std::vector<double> powers;
    for (const double value : values) powers.push_back(std::exp(value));
    logs.add(trial_with(powers), "c");
  }
  EXPECT_NEAR(raw.result().at(0).within, logs.result().at(0).within, 1e-12);
  EXPECT_NEAR(raw.result().at(0).between, logs.result().at(0).between, 1e-9);
  logs.add(trial_with({-1, 2}), "c");  // it has no logarithm
  EXPECT_NEAR(raw.result().at(0).within, logs.result().at(0).within, 1e-12);
}

TEST(SampleSums, NeedsTwoTrialsAndTwoSamples) {
  SampleSums sums(plan_on(false));
  EXPECT_TRUE(sums.result().empty());
  sums.add(trial_with({1, 2}), "a");
  sums.add(trial_with({3, 4}), "b");
  EXPECT_TRUE(sums.result().empty());
  SampleSums single(plan_on(false));
  for (const double value : {1, 2, 3}) single.add(trial_with({value}), "a");
  EXPECT_TRUE(single.result().empty());
}

}  // namespace
}  // namespace stab::results
