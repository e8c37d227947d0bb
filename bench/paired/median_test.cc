// SPDX-License-Identifier: MIT
#include "bench/paired/median.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace stab::bench {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Median, ItIsTheMiddleOrTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(median(std::vector{3.0, 1.0, 2.0}, 0.05)->value, 2);
  EXPECT_EQ(median(std::vector{4.0, 1.0, 3.0, 2.0}, 0.05)->value, 2.5);
}

// Ranks and coverages as in the tables of the sign test (Dixon, Mood 1946).
TEST(Median, TheIntervalHasTheRanksOfTheSignTest) {
  const auto six = median(one_to(6), 0.05);
  ASSERT_TRUE(six->interval);
  EXPECT_EQ(six->interval->low, 1);
  EXPECT_EQ(six->interval->high, 6);
  EXPECT_NEAR(six->coverage, 0.96875, 1e-12);
  const auto ten = median(one_to(10), 0.05);
  EXPECT_EQ(ten->interval->low, 2);
  EXPECT_EQ(ten->interval->high, 9);
  EXPECT_NEAR(ten->coverage, 0.978515625, 1e-12);
  const auto twenty = median(one_to(20), 0.05);
  EXPECT_EQ(twenty->interval->low, 6);
  EXPECT_EQ(twenty->interval->high, 15);
  EXPECT_NEAR(twenty->coverage, 1 - 2 * 21700.0 / (1 << 20), 1e-12);
}

TEST(Median, TooFewNumbersHaveNoInterval) {
  EXPECT_FALSE(median(one_to(5), 0.05)->interval);
  EXPECT_FALSE(median({}, 0.05));
}

TEST(Median, NumbersThatAreNotFiniteAreLeftOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(median(std::vector{nan, 7.0}, 0.05)->n, 1U);
}

TEST(Median, IntervalsOfDrawsHoldTheTrueMedianAsOftenAsTheySay) {
  Random random(5);
  int held = 0;
  constexpr int experiments = 2000;
  for (int i = 0; i < experiments; ++i) {
    std::vector<double> draws(20);
    for (double& x : draws) x = static_cast<double>(random.below(1'000'000));
    const auto found = median(draws, 0.05);
    held += found->interval->low <= 500'000 && 500'000 <= found->interval->high;
  }
  EXPECT_GT(held, experiments * 0.945);
  EXPECT_LT(held, experiments * 0.972);
}

}  // namespace
}  // namespace stab::bench
