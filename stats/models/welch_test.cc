// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "stats/models/own_error.h"
#include "stats/numbers/distribution.h"
#include "stats/oracle/expect.h"

namespace stab::stats {
namespace {

using oracle::expect_close;

// R's sleep: extra hours of sleep under two drugs (Student, Biometrika 1908).
constexpr std::array drug1{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
constexpr std::array drug2{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

// make.R: sleep; R takes the difference the other way round.
TEST(Welch, AgreesWithRsTTest) {
  const Estimate estimate = welch(moments(drug1), moments(drug2));
  expect_close(estimate.difference / std::sqrt(estimate.variance), 1.86081346748685);
  expect_close(estimate.df, 17.7764735161785);
  expect_close(p_value(estimate), 0.0793941401873582);
  const auto interval = difference_interval(estimate, 0.05);
  ASSERT_TRUE(interval);
  expect_close(interval->low, -0.20548323071171);
  expect_close(interval->high, 3.36548323071171);
}

TEST(Welch, ACellOfOneNumberHasNoError) {
  const Estimate estimate = welch(moments(std::array{1.0}), moments(std::array{2.0, 3.0}));
  EXPECT_EQ(estimate.difference, 1.5);
  EXPECT_FALSE(estimate.has_error());
  EXPECT_FALSE(p_value(estimate));
  EXPECT_FALSE(difference_interval(estimate, 0.05));
}

TEST(Welch, ConstantNumbersDifferExactly) {
  const Moments two = moments(std::array{2.0, 2.0});
  const Estimate same = welch(two, two);
  EXPECT_EQ(p_value(same), 1);
  const Estimate more = welch(two, moments(std::array{3.0, 3.0}));
  EXPECT_EQ(p_value(more), 0);
  const auto interval = ratio_interval(more, 0.05);
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 1.5);
  EXPECT_EQ(interval->high, 1.5);
}

// The sums of squares of such numbers are near the largest double.
TEST(Welch, HugeNumbersKeepTheirDegreesOfFreedom) {
  const Estimate estimate =
      welch(moments(std::array{1e148, 2e148, 4e148}), moments(std::array{5e148, 6e148, 9e148}));
  ASSERT_TRUE(p_value(estimate));
  EXPECT_GT(estimate.df, 2);
  EXPECT_LT(estimate.df, 4);
}

TEST(Welch, AveragesOfCellsKeepTheVarianceInsideEachCell) {
  const std::vector<Moments> cells{moments(std::array{1.0, 3.0}), moments(std::array{11.0, 13.0}),
                                   moments(std::array{2.0, 4.0}), moments(std::array{12.0, 14.0})};
  const Estimate estimate =
      welch(cells, {.weights = {-0.5, -0.5, 0.5, 0.5}, .base = {0.5, 0.5, 0, 0}});
  EXPECT_DOUBLE_EQ(*estimate.base, 7);
  EXPECT_DOUBLE_EQ(estimate.difference, 1);
  EXPECT_DOUBLE_EQ(estimate.variance, 1);  // four cells, each (1/2)^2 * 2 / 2
  EXPECT_DOUBLE_EQ(estimate.df, 4);
}

Estimate mean_estimate(std::span<const double> numbers) {
  const Moments all = moments(numbers);
  const double n = static_cast<double>(all.n);
  return {.difference = all.mean, .variance = *all.variance() / n, .df = n - 1, .units = all.n};
}

// For two groups Welch's F is the square of his t, with the same degrees of freedom.
TEST(EqualMeans, TwoGroupsAreWelchsT) {
  const std::array two{mean_estimate(drug1), mean_estimate(drug2)};
  const auto test = test_equal(two);
  ASSERT_TRUE(test);
  expect_close(test->f, 1.86081346748685 * 1.86081346748685);
  EXPECT_EQ(test->df, 1);
  expect_close(test->error_df, 17.7764735161785);
  expect_close(test->p, 0.0793941401873582);
}

// R's InsectSprays, of which R prints: oneway.test(count ~ spray, InsectSprays)
// F = 36.065, num df = 5.000, denom df = 30.043, p-value = 7.999e-12
TEST(EqualMeans, AgreesWithRsOnewayTest) {
  const std::array<std::array<double, 12>, 6> sprays{{
      {10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13},
      {11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13},
      {0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4},
      {3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4},
      {3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4},
      {11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13},
  }};
  std::vector<Estimate> means;
  for (const auto& spray : sprays) means.push_back(mean_estimate(spray));
  const auto test = test_equal(means);
  ASSERT_TRUE(test);
  EXPECT_NEAR(test->f, 36.065, 0.0005);
  EXPECT_EQ(test->df, 5);
  EXPECT_NEAR(test->error_df, 30.043, 0.0005);
  EXPECT_NEAR(test->p, 7.999e-12, 0.0005e-12);
}

TEST(EqualMeans, NeedsTwoEstimatesWithAnError) {
  const std::array one{mean_estimate(drug1), Estimate{.difference = 1}};
  EXPECT_FALSE(test_equal(one));
  EXPECT_FALSE(test_equal({}));
}

// Fieller: at both ends of the interval the t statistic of b - ratio * a is exactly the critical
// one.
TEST(Ratio, FiellersIntervalInvertsItsTest) {
  const Moments a = moments(std::array{10.0, 11.0, 12.0, 10.5});
  const Moments b = moments(std::array{9.0, 9.5, 8.7, 9.9});
  const Estimate estimate = welch(a, b);
  const auto interval = ratio_interval(estimate, 0.05);
  ASSERT_TRUE(interval);
  const double t = *t_upper_quantile(0.025, estimate.df);
  for (const double ratio : {interval->low, interval->high}) {
    const double variance = *b.variance() / 4 + ratio * ratio * *a.variance() / 4;
    expect_close(std::abs(b.mean - ratio * a.mean) / std::sqrt(variance), t);
  }
  EXPECT_LT(interval->low, b.mean / a.mean);
  EXPECT_GT(interval->high, b.mean / a.mean);
}

TEST(Ratio, ABaselineThatMayBeZeroHasNoRatio) {
  const Estimate estimate = welch(moments(std::array{-5.0, 6.0}), moments(std::array{2.0, 3.0}));
  EXPECT_FALSE(ratio_interval(estimate, 0.05));
}

}  // namespace
}  // namespace stab::stats
