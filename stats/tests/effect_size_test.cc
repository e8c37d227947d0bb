// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include <gtest/gtest.h>

#include <cmath>

#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"
#include "stats/oracle/tests_expected.h"
#include "stats/tests/variances.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

double plant_growth_f() {
  return r::plant_growth_sums[0] / 2 / (r::plant_growth_sums[1] / 27);
}

TEST(EffectSize, SharesOfVarianceAgreeWithR) {
  const auto expect = [](double f, double df1, double df2, std::span<const double> expected) {
    const auto share = shares(f, df1, df2, 0.05);
    ASSERT_TRUE(share && share->interval);
    oracle::expect_near("shares",
                        {share->eta2, share->omega2, share->interval->low, share->interval->high},
                        expected, 1e-8);
  };
  expect(plant_growth_f(), 2, 27, r::shares_plant_growth);
  expect(0.225, 2, 27, r::shares_of_nothing);
  expect(1.13139, 99, 200, r::shares_of_many_levels);
}

// The interval excludes 0 exactly if the F test does: here p = 0.0159.
TEST(EffectSize, ASignificantTermHasAShareAboveZero) {
  EXPECT_GT(shares(plant_growth_f(), 2, 27, 0.016)->interval->low, 0);
  EXPECT_EQ(shares(plant_growth_f(), 2, 27, 0.0158)->interval->low, 0);
}

TEST(EffectSize, TheIntervalContainsTheEstimate) {
  for (const double alpha : {0.01, 0.05, 0.2})
    for (const double df1 : {1.0, 2.0, 3.0, 7.0, 20.0, 99.0, 500.0})
      for (const double df2 : {1.0, 2.0, 5.0, 12.5, 60.0, 200.0, 5000.0})
        for (const double f :
             {0.0, 0.01, 0.3, 0.9, 1.0, 1.001, 1.13139, 1.5, 3.0, 10.0, 100.0, 1900.0}) {
          const auto share = shares(f, df1, df2, alpha);
          ASSERT_TRUE(share);
          ASSERT_TRUE(share->interval) << f << " " << df1 << " " << df2;
          EXPECT_LE(share->interval->low, share->omega2) << f << " " << df1 << " " << df2;
          EXPECT_GE(share->interval->high, share->omega2) << f << " " << df1 << " " << df2;
          EXPECT_LT(share->interval->high, 1);
        }
}

// 4000 experiments of 5 cells with 8 numbers each: within 3 standard errors of 90 %.
TEST(EffectSize, TheIntervalHoldsTheShareOfThePopulation) {
  oracle::Normal normal(5);
  int holds = 0;
  constexpr double means[] = {-1, -0.5, 0, 0.5, 1};
  constexpr double lambda = 8 * 2.5;
  for (int i = 0; i < 4000; ++i) {
    Moments cells;
    double within = 0;
    for (const double mean : means) {
      const Moments cell = moments(normal.sample(8, mean));
      cells.add(cell.mean);
      within += cell.ss;
    }
    const auto share = shares(8 * *cells.variance() / (within / 35), 4, 35, 0.05);
    ASSERT_TRUE(share && share->interval);
    const double truth = lambda / (lambda + 40);
    if (share->interval->low <= truth && truth <= share->interval->high) ++holds;
  }
  EXPECT_NEAR(holds, 3600, 57);
}

TEST(EffectSize, AShareNearOneHasNoInterval) {
  const auto share = shares(1e9, 1, 10, 0.05);
  ASSERT_TRUE(share);
  EXPECT_GT(share->omega2, 0.9999);
  EXPECT_FALSE(share->interval);
}

TEST(EffectSize, WhatIsNoFHasNoShare) {
  EXPECT_FALSE(shares(-1, 1, 5, 0.05));
  EXPECT_FALSE(shares(1, 0, 5, 0.05));
  EXPECT_FALSE(shares(1, 1, 0, 0.05));
  EXPECT_FALSE(shares(std::nan(""), 1, 5, 0.05));
  EXPECT_FALSE(shares(1, 1, INFINITY, 0.05));
}

}  // namespace
}  // namespace stab::stats
