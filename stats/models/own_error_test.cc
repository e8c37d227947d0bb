// SPDX-License-Identifier: MIT
#include "stats/models/own_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/oracle/data.h"

namespace stab::stats {
namespace {

UnitNumbers numbers_of(std::vector<double> differences) {
  UnitNumbers result{.difference = std::move(differences)};
  result.units.resize(result.difference.size());
  std::iota(result.units.begin(), result.units.end(), 0U);
  return result;
}

std::vector<double> series(std::size_t n, double correlation, std::uint64_t seed) {
  oracle::Normal normal(seed);
  std::vector<double> result;
  double last = normal.next();
  for (std::size_t i = 0; i < n; ++i) {
    result.push_back(last);
    last = correlation * last + std::sqrt(1 - correlation * correlation) * normal.next();
  }
  return result;
}

// By hand: the numbers are 1 to 10, so r is 0.7 (Box and Jenkins' estimate), and the correlation
// (10 * 0.7 + 1) / 7 is above the most that is allowed, 0.9.
TEST(MeanOverTime, CountsNeighboursThatAreAlike) {
  std::vector<double> trend(10);
  std::iota(trend.begin(), trend.end(), 1.0);
  const Estimate estimate = mean_over_time(numbers_of(trend), {}, 0);
  EXPECT_NEAR(estimate.difference, 5.5, 1e-12);
  EXPECT_NEAR(estimate.autocorrelation, 0.9, 1e-12);
  EXPECT_LT(estimate.independent, 2);
  EXPECT_EQ(estimate.df, 3);
  EXPECT_TRUE(too_few_independent(estimate));
}

// The same numbers with alternating sides repel each other: the error is that of independent ones.
TEST(MeanOverTime, NeverShrinksTheError) {
  const std::vector<double> saw{1, -1, 2, -2, 1, -1, 2, -2, 1, -1, 2, -2};
  const Estimate estimate = mean_over_time(numbers_of(saw), {}, 0);
  const Estimate independent = mean_of(numbers_of(saw), 0);
  EXPECT_EQ(estimate.variance, independent.variance);
  EXPECT_EQ(estimate.df, independent.df);
  EXPECT_EQ(estimate.independent, 12);
  EXPECT_FALSE(too_few_independent(estimate));
}

// r = -1/2 + 1/2 ... by hand for 0 0 1 1 repeated: mean 1/2, squares 12/4, products 1/4 (6 - 5).
TEST(MeanOverTime, IsWhatTheFormulaSays) {
  const std::vector<double> pairs{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1};
  const double r = 1.0 / 12;
  const double correlation = (12 * r + 1) / 9 + 0.25 / std::sqrt(12);
  double inflation = 1;
  for (int lag = 1; lag < 12; ++lag) inflation += 2 * std::pow(correlation, lag) * (1 - lag / 12.0);
  const Estimate estimate = mean_over_time(numbers_of(pairs), {}, 0);
  EXPECT_NEAR(estimate.autocorrelation, correlation, 1e-12);
  EXPECT_NEAR(estimate.independent, 12 / inflation, 1e-12);
  EXPECT_NEAR(estimate.df, 12 / inflation - 1, 1e-12);
  EXPECT_NEAR(estimate.variance, 3.0 / 11 / 12 * inflation / (1 - (inflation - 1) / 11), 1e-12);
}

TEST(MeanOverTime, TakesUnitsInTheOrderOfTheirRank) {
  const std::vector<double> ordered = series(40, 0.8, 3);
  UnitNumbers shuffled = numbers_of(ordered);
  std::vector<std::uint32_t> rank(40);
  for (std::uint32_t i = 0; i < 40; ++i) rank[i] = i * 7 % 40;
  for (std::size_t i = 0; i < 40; ++i) shuffled.difference[i] = ordered[rank[i]];
  const Estimate by_rank = mean_over_time(shuffled, rank, 0);
  EXPECT_NEAR(by_rank.variance, mean_over_time(numbers_of(ordered), {}, 0).variance, 1e-12);
  EXPECT_GT(by_rank.variance, 1.5 * mean_over_time(shuffled, {}, 0).variance);
}

TEST(MeanOverTime, FewOrEqualNumbersAreTakenAsTheyAre) {
  const std::vector<double> few = series(least_for_dependence - 1, 0.9, 1);
  EXPECT_EQ(mean_over_time(numbers_of(few), {}, 0).variance, mean_of(numbers_of(few), 0).variance);
  EXPECT_EQ(mean_over_time(numbers_of(few), {}, 0).in_time, 0U);
  const std::vector<double> equal(20, 3);
  EXPECT_EQ(mean_over_time(numbers_of(equal), {}, 1e-20).variance, 0);
}

// Of 2000 series with correlation 0.5 at most 6 % may exclude the truth from 60 numbers on, 8 % with
// 20; three standard errors are 1.6 and 1.8 %.
TEST(MeanOverTime, HoldsItsLevel) {
  const auto wrong = [](std::size_t n, double correlation) {
    int count = 0;
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
      const Estimate estimate = mean_over_time(numbers_of(series(n, correlation, seed)), {}, 0);
      count += !too_few_independent(estimate) && *p_value(estimate) < 0.05 ? 1 : 0;
    }
    return count;
  };
  EXPECT_LE(wrong(60, 0.5), 152);
  EXPECT_LE(wrong(20, 0.5), 196);
  EXPECT_LE(wrong(20, 0.9), 196);
  EXPECT_LE(wrong(20, 0), 130);
  EXPECT_GE(wrong(20, 0), 40);
}

// Ten numbers: two are cut at each end, and take the values of their neighbours for the error.
Estimate median_estimate(const std::vector<double>& differences) {
  const UnitNumbers numbers = numbers_of(differences);
  const auto result = median_of(numbers, mean_of(numbers, 0), 0);
  EXPECT_TRUE(result);
  return result.value_or(Estimate{});
}

// Of 20 numbers the interval ends at the 6th and the 15th (coverage 95.9 %), and 16 of 20 on one side
// have p = 0.01181793 (R: binom.test(16, 20)).
TEST(Median, HasTheSignTestAndItsInterval) {
  std::vector<double> numbers(20);
  std::iota(numbers.begin(), numbers.end(), -3.5);
  Estimate estimate = median_estimate(numbers);
  estimate.log = true;
  EXPECT_DOUBLE_EQ(estimate.difference, 6);
  const auto interval = difference_interval(estimate, 0.05);
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->low, 1.5);
  EXPECT_DOUBLE_EQ(interval->high, 10.5);
  EXPECT_NEAR(p_value(estimate).value_or(0), 0.01181793, 1e-8);
  // All but one are below a margin of 14.6: P(at least 19 of 20).
  EXPECT_NEAR(p_same(estimate, std::expm1(14.6)).value_or(0), 21 / std::exp2(20), 1e-12);
  // It does not depend on how far the farthest are.
  numbers.back() = 1e6;
  const auto far = difference_interval(median_estimate(numbers), 0.05);
  ASSERT_TRUE(far);
  EXPECT_DOUBLE_EQ(far->high, 10.5);
}

// Equal numbers count for neither side, and fewer than six have no 95 % interval.
TEST(Median, TiesAndFewNumbersAreConservative) {
  const Estimate ties = median_estimate({0, 0, 0, 0, 0, 0, 1, 1, 1, 1});
  EXPECT_EQ(p_value(ties), 1);
  const auto interval = difference_interval(ties, 0.05);
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, 0);
  EXPECT_EQ(interval->high, 1);
  const UnitNumbers few = numbers_of({1, 2, 3, 4, 5});
  EXPECT_FALSE(median_of(few, mean_of(few, 0), 0));
  EXPECT_FALSE(difference_interval(median_estimate({1, 2, 3, 4, 5, 6}), 0.01));
  EXPECT_TRUE(difference_interval(median_estimate({1, 2, 3, 4, 5, 6}), 0.05));
}

// An interval leaves 0 out exactly if p is at most its level, also where numbers count as fewer and
// where subjects share what blocks do.
TEST(Median, IntervalAndPAgree) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::vector<double> differences = series(20, 0.4, seed);
    for (double& each : differences) each += 0.6;
    const UnitNumbers numbers = numbers_of(differences);
    Estimate mean = mean_over_time(numbers, {}, 0);
    if (seed % 2 == 0) {
      mean.fixed = 0.01;
      mean.df = 8;
    }
    const auto estimate = median_of(numbers, mean, 0);
    ASSERT_TRUE(estimate);
    const auto p = p_value(*estimate);
    ASSERT_TRUE(p);
    for (const double alpha : {0.2, 0.05, 0.01}) {
      const auto interval = difference_interval(*estimate, alpha);
      const bool excludes = interval && (interval->low > 0 || interval->high < 0);
      EXPECT_EQ(excludes, *p <= alpha) << seed << " " << alpha << " " << *p;
    }
  }
}

TEST(TrimmedMean, IsWhatTheFormulaSays) {
  const UnitNumbers numbers = numbers_of({9, 1, 2, 3, 4, 5, 6, 7, 8, 1000});
  const auto trimmed = trimmed_mean_of(numbers, mean_of(numbers, 0), 0);
  ASSERT_TRUE(trimmed);
  EXPECT_NEAR(trimmed->difference, 5.5, 1e-12);
  // Winsorized: 3 3 3 4 5 6 7 8 8 8 around 5.5.
  EXPECT_NEAR(trimmed->variance, 42.5 / (6 * 5), 1e-12);
  EXPECT_EQ(trimmed->df, 5);
  EXPECT_FALSE(trimmed_mean_of(numbers_of({1, 2, 3, 4}), mean_of(numbers_of({1, 2, 3, 4}), 0), 0));
}

}  // namespace
}  // namespace stab::stats
