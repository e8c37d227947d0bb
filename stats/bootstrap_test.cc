// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include "stats/bootstrap.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/oracle/deviation.h"
#include "stats/oracle/simulate.h"
#include "stats/oracle/tests_expected.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

double mean(std::span<const double> x) {
  return moments(x).mean;
}

double ratio(std::span<const double> a, std::span<const double> b) {
  return mean(b) / mean(a);
}

// Both sides draw at random: the ends agree within a few hundredths of the width.
void expect_interval(const char* name, const Result<BootstrapInterval>& result,
                     std::span<const double> expected) {
  ASSERT_TRUE(result) << result.error().message;
  const double width = expected[1] - expected[0];
  for (const double deviation :
       {result->interval.low - expected[0], result->interval.high - expected[1]}) {
    EXPECT_NEAR(deviation / width, 0, 0.02);
    oracle::Deviations::all().add(std::string(name) + " (of the width)",
                                  std::abs(deviation) / width);
  }
}

TEST(Bootstrap, AgreesWithR) {
  expect_interval("bca, one sample", bca(r::skew30, mean, 0.05, {.seed = 3, .draws = 40'000}),
                  r::bca_mean);
  const auto two = bca(r::skew30, r::skew60, ratio, 0.05, {.seed = 4, .draws = 40'000});
  expect_interval("bca, two samples", two, r::bca_ratio);
  oracle::expect_near("bca: acceleration", {two->acceleration}, r::bca_ratio_acceleration, 1e-10);
}

TEST(Bootstrap, TheSeedDecides) {
  const BootstrapOptions options{.seed = 9, .draws = 999};
  const auto one = bca(r::skew30, mean, 0.05, options);
  const auto same = bca(r::skew30, mean, 0.05, options);
  const auto other = bca(r::skew30, mean, 0.05, {.seed = 10, .draws = 999});
  ASSERT_TRUE(one && same && other);
  EXPECT_EQ(one->interval.low, same->interval.low);
  EXPECT_NE(one->interval.low, other->interval.low);
  EXPECT_EQ(one->value, mean(r::skew30));
}

// The point of bias correction and acceleration: the interval of a transformed statistic is the
// transformed interval.
TEST(Bootstrap, RespectsTransformations) {
  const BootstrapOptions options{.seed = 9, .draws = 1999};
  const auto plain = bca(r::skew30, mean, 0.05, options);
  const auto logarithm =
      bca(r::skew30, [](std::span<const double> x) { return std::log(mean(x)); }, 0.05, options);
  ASSERT_TRUE(plain && logarithm);
  EXPECT_NEAR(std::exp(logarithm->interval.low), plain->interval.low, 0.01);
  EXPECT_NEAR(std::exp(logarithm->interval.high), plain->interval.high, 0.03);
}

// 400 experiments with skewed numbers: a plain t interval holds the mean less often.
TEST(Bootstrap, IntervalsHoldTheTruthNearlyAsOftenAsTheySay) {
  oracle::Normal normal(21);
  int holds = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    std::vector<double> sample(30);
    for (double& x : sample) x = -std::log(normal.uniform());
    const auto result = bca(sample, mean, 0.05, {.seed = i, .draws = 999});
    ASSERT_TRUE(result);
    if (result->interval.low <= 1 && 1 <= result->interval.high) ++holds;
  }
  EXPECT_NEAR(holds / 400.0, 0.94, 0.03);
}

TEST(Bootstrap, WhatCannotBeToldSaysWhy) {
  const std::vector<double> few{1, 2, 3, 4};
  EXPECT_FALSE(bca(few, mean, 0.05, {}));
  EXPECT_FALSE(bca(std::vector<double>(9, 2.0), mean, 0.05, {}));
  EXPECT_FALSE(bca(r::skew30, mean, 0.05, {.draws = 100}));
  EXPECT_FALSE(bca(r::skew30, mean, 1e-5, {.draws = 999}));
  const auto undefined = [](std::span<const double>) { return std::nan(""); };
  EXPECT_FALSE(bca(r::skew30, undefined, 0.05, {.draws = 200}));
  EXPECT_FALSE(bca(r::skew30, std::vector<double>(9, std::nan("")), ratio, 0.05, {.draws = 200}));
}

}  // namespace
}  // namespace stab::stats
