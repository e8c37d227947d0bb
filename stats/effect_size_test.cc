// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include "stats/effect_size.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/oracle/deviation.h"
#include "stats/oracle/simulate.h"
#include "stats/oracle/tests_expected.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

void expect_size(const char* name, const Result<EffectSize>& size, std::span<const double> expected,
                 double digits) {
  ASSERT_TRUE(size) << size.error().message;
  oracle::expect_near(name, {size->value, size->interval.low, size->interval.high}, expected,
                      digits);
}

TEST(EffectSize, AgreesWithR) {
  expect_size("ratio_of_means", ratio_of_means(r::before, r::after, 0.05), r::ratio_before_after,
              1e-11);
  expect_size("hedges_g", hedges_g(moments(r::normal12), moments(r::normal11), 0.05),
              r::hedges_12_11, 1e-8);
  expect_size("hedges_g", hedges_g(moments(r::before), moments(r::after), 0.1),
              r::hedges_before_after, 1e-8);
  expect_size("cliffs_delta", cliffs_delta(r::skew30, r::skew60, 0.05), r::cliff_skew, 1e-10);
  std::vector<double> shifted;
  for (const double x : r::normal12) shifted.push_back(x + 3);
  expect_size("cliffs_delta", cliffs_delta(r::ties25, shifted, 0.05), r::cliff_ties, 1e-10);
}

TEST(EffectSize, SharesOfVarianceAgreeWithR) {
  const double ss = r::plant_growth_sums[0];
  const double rest = r::plant_growth_sums[1];
  const TermSums term{.ss = ss, .df = 2, .rest_ss = rest, .rest_df = 27, .n = 30};
  expect_size("eta_squared", eta_squared(term, 0.1), r::eta_plant_growth, 1e-8);
  const TermSums nothing{.ss = 0.5, .df = 2, .rest_ss = 30, .rest_df = 27, .n = 30};
  expect_size("eta_squared", eta_squared(nothing, 0.1), r::eta_nothing, 1e-8);
  const auto omega = omega_squared(term);
  ASSERT_TRUE(omega);
  const double f = ss / 2 / (rest / 27);  // Hays' other form
  EXPECT_NEAR(*omega, 2 * (f - 1) / (2 * (f - 1) + 30), 1e-12);
  EXPECT_EQ(*omega_squared(nothing), 0);
}

// The interval excludes 0 exactly if the F test at alpha / 2 does: here p = 0.0159.
TEST(EffectSize, ASignificantTermHasAShareAboveZero) {
  const TermSums term{.ss = r::plant_growth_sums[0],
                      .df = 2,
                      .rest_ss = r::plant_growth_sums[1],
                      .rest_df = 27,
                      .n = 30};
  EXPECT_GT(eta_squared(term, 2 * 0.016)->interval.low, 0);
  EXPECT_EQ(eta_squared(term, 2 * 0.0158)->interval.low, 0);
}

TEST(EffectSize, SamplesThatDoNotOverlapHaveABoundAllTheSame) {
  const auto delta =
      cliffs_delta(std::vector{1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0},
                   std::vector{11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0}, 0.05);
  ASSERT_TRUE(delta);
  EXPECT_EQ(delta->value, 1);
  EXPECT_EQ(delta->interval.high, 1);
  EXPECT_NEAR(delta->interval.low, (8 - 3.841459) / (8 + 3.841459), 1e-6);
  const auto reversed = cliffs_delta(std::vector{5.0, 6.0}, std::vector{1.0, 2.0}, 0.05);
  ASSERT_TRUE(reversed);
  EXPECT_EQ(reversed->value, -1);
  EXPECT_LE(reversed->interval.low, -1);
}

// 2000 experiments each: the share of intervals that hold the truth, within 3 standard errors of
// 95 %, or above it.
TEST(EffectSize, IntervalsHoldTheTruth) {
  oracle::Normal normal(5);
  int g_holds = 0;
  int delta_holds = 0;
  const double truth = std::erf(0.8 / 2);  // P(b > a) - P(b < a) for means 0.8 apart
  for (int i = 0; i < 2000; ++i) {
    const auto a = normal.sample(15);
    const auto b = normal.sample(20, 0.8);
    const auto g = hedges_g(moments(a), moments(b), 0.05);
    const auto delta = cliffs_delta(a, b, 0.05);
    ASSERT_TRUE(g && delta);
    // g's correction applies to the estimate; the interval of the uncorrected size is exact.
    const double correction = 1 - 3 / (4.0 * 33 - 1);
    if (g->interval.low <= 0.8 * correction && 0.8 * correction <= g->interval.high) ++g_holds;
    if (delta->interval.low <= truth && truth <= delta->interval.high) ++delta_holds;
  }
  EXPECT_NEAR(g_holds / 2000.0, 0.95, 0.015);
  EXPECT_NEAR(delta_holds / 2000.0, 0.95, 0.02);
}

TEST(EffectSize, WhatCannotBeToldSaysWhy) {
  const std::vector<double> some{1, 2, 3, 4};
  const std::vector<double> equal{2, 2, 2};
  EXPECT_FALSE(ratio_of_means(some, std::vector{0.0, 1.0}, 0.05));
  EXPECT_FALSE(ratio_of_means(some, std::vector{1.0}, 0.05));
  EXPECT_FALSE(ratio_of_means(equal, equal, 0.05));
  EXPECT_FALSE(ratio_of_means(some, std::vector{1.0, std::nan("")}, 0.05));
  EXPECT_FALSE(hedges_g(moments(equal), moments(equal), 0.05));
  EXPECT_FALSE(hedges_g(moments(some), moments(some), 2));
  EXPECT_FALSE(cliffs_delta(some, std::vector{1.0}, 0.05));
  EXPECT_FALSE(cliffs_delta(equal, equal, 0.05));
  EXPECT_FALSE(eta_squared({.ss = 1, .df = 1, .rest_ss = 0, .rest_df = 5, .n = 7}, 0.1));
  EXPECT_FALSE(eta_squared({.ss = 1, .df = 1, .rest_ss = 1, .rest_df = 0, .n = 2}, 0.1));
  EXPECT_FALSE(omega_squared({.ss = std::nan(""), .df = 1, .rest_ss = 1, .rest_df = 5, .n = 7}));
}

}  // namespace
}  // namespace stab::stats
