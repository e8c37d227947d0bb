// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include "stats/tests/wilcoxon.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/numbers/summary.h"
#include "stats/oracle/expect.h"
#include "stats/oracle/tests_expected.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

void expect_test(const char* name, const Result<RankTest>& test, std::span<const double> expected,
                 double interval_digits) {
  ASSERT_TRUE(test) << test.error().message;
  ASSERT_TRUE(test->interval);
  oracle::expect_near(name, {test->statistic, test->p}, expected.first(2), 1e-11);
  oracle::expect_near(std::string(name) + ": shift, interval",
                      {test->shift, test->interval->low, test->interval->high}, expected.subspan(2),
                      interval_digits);
}

std::vector<double> cumulative(const std::vector<double>& distribution) {
  std::vector<double> result;
  double sum = 0;
  for (const double p : distribution) result.push_back(sum += p);
  return result;
}

TEST(RankDistribution, AgreesWithR) {
  const auto rank_sums = cumulative(rank_sum_distribution(9, 7));
  ASSERT_EQ(rank_sums.size(), r::pwilcox_7_9.size());
  for (std::size_t w = 0; w < rank_sums.size(); ++w)
    oracle::expect_near("rank_sum_distribution", {rank_sums[w]},
                        std::span(r::pwilcox_7_9).subspan(w, 1), 1e-12);
  const auto signed_ranks = cumulative(signed_rank_distribution(10));
  ASSERT_EQ(signed_ranks.size(), r::psignrank_10.size());
  for (std::size_t w = 0; w < signed_ranks.size(); ++w)
    oracle::expect_near("signed_rank_distribution", {signed_ranks[w]},
                        std::span(r::psignrank_10).subspan(w, 1), 1e-12);
}

TEST(RankDistribution, AgreesWithRForTheLargestExactSamples) {
  const auto sums = cumulative(rank_sum_distribution(49, 49));
  oracle::expect_near("rank_sum_distribution", {sums[500], sums[900], sums[1100], sums[1200]},
                      r::pwilcox_49_49, 1e-11);
  const auto ranks = cumulative(signed_rank_distribution(49));
  oracle::expect_near("signed_rank_distribution", {ranks[200], ranks[400], ranks[550], ranks[612]},
                      r::psignrank_49, 1e-11);
}

TEST(RankSum, ExactAgreesWithR) {
  expect_test("rank_sum (exact)", rank_sum(r::normal11, r::normal12, 0.05), r::rank_sum_exact,
              1e-11);
  expect_test("rank_sum (exact)", rank_sum(r::skew30, std::span(r::skew60).first(49), 0.05),
              r::rank_sum_30_49, 1e-11);
  const std::vector<double> low{1, 2.5, 3};
  const std::vector<double> high{4, 5.5, 6};
  expect_test("rank_sum (exact)", rank_sum(low, high, 0.1), r::rank_sum_3_3, 1e-11);
  EXPECT_TRUE(rank_sum(low, high, 0.1)->exact);
}

// Three against three can never reach 5 %: the interval is without bounds.
TEST(RankSum, TooFewNumbersHaveAPAndNoInterval) {
  const auto test = rank_sum(std::vector{1.0, 2.0, 3.0}, std::vector{4.0, 5.0, 6.5}, 0.05);
  ASSERT_TRUE(test);
  EXPECT_DOUBLE_EQ(test->p, 0.1);
  EXPECT_FALSE(test->interval);
}

TEST(RankSum, LargeSamplesAgreeWithR) {
  const auto test = rank_sum(r::skew30, r::skew60, 0.05);
  expect_test("rank_sum (normal)", test, r::rank_sum_normal, 1e-7);
  EXPECT_FALSE(test->exact);
}

TEST(RankSum, TiesAreCorrectedAsInR) {
  std::vector<double> rounded;
  for (const double x : r::normal12) rounded.push_back(std::round(x));
  const auto test = rank_sum(r::ties25, rounded, 0.05);
  ASSERT_TRUE(test);
  EXPECT_FALSE(test->exact);
  oracle::expect_near("rank_sum (ties)", {test->statistic, test->p}, r::rank_sum_ties, 1e-11);
  EXPECT_TRUE(test->interval);
}

TEST(SignedRank, AgreesWithR) {
  expect_test("signed_rank (exact)", signed_rank(r::before, r::after, 0.05), r::signed_rank_exact,
              1e-11);
  std::vector<double> reversed;
  for (auto x = r::skew60.rbegin(); x != r::skew60.rend(); ++x)
    reversed.push_back(*x * 1.1 + 0.001);
  expect_test("signed_rank (normal)", signed_rank(reversed, r::skew60, 0.05), r::signed_rank_normal,
              1e-7);
}

TEST(SignedRank, TiesAndZerosAreCorrectedAsInR) {
  const auto test = signed_rank(std::vector<double>(25, 4.0), r::ties25, 0.05);
  ASSERT_TRUE(test);
  oracle::expect_near("signed_rank (ties)", {test->statistic, test->p}, r::signed_rank_ties, 1e-11);
}

// The interval holds exactly the shifts that the test does not reject.
TEST(RankSum, IntervalAndTestSayTheSame) {
  const auto test = rank_sum(r::skew30, r::skew60, 0.05);
  ASSERT_TRUE(test && test->interval);
  const double width = test->interval->high - test->interval->low;
  for (const double end : {test->interval->low, test->interval->high}) {
    const double outwards = end == test->interval->low ? -1e-6 : 1e-6;
    for (const double step : {outwards, -outwards}) {
      std::vector<double> moved;
      for (const double x : r::skew60) moved.push_back(x - (end + step * width));
      const auto again = rank_sum(r::skew30, moved, 0.05);
      ASSERT_TRUE(again);
      EXPECT_EQ(again->p < 0.05, step == outwards);
    }
  }
}

TEST(Order, PairsAreFoundWithoutBeingMade) {
  std::vector<double> a(r::ties25.begin(), r::ties25.end());
  std::vector<double> b(r::normal12.begin(), r::normal12.end());
  std::ranges::sort(a);
  std::ranges::sort(b);
  std::vector<double> differences;
  for (const double x : a)
    for (const double y : b) differences.push_back(x - y);
  std::ranges::sort(differences);
  for (std::size_t k = 1; k <= differences.size(); ++k)
    ASSERT_EQ(nth_difference(a, b, k), differences[k - 1]) << k;
  std::vector<double> means;
  for (std::size_t i = 0; i < b.size(); ++i)
    for (std::size_t j = i; j < b.size(); ++j) means.push_back(b[i] / 2 + b[j] / 2);
  std::ranges::sort(means);
  for (std::size_t k = 1; k <= means.size(); ++k)
    ASSERT_EQ(nth_walsh_average(b, k), means[k - 1]) << k;
}

// Where doubles are dense: half of the differences are exactly 0.
TEST(Order, AMedianOfZeroIsFoundSoon) {
  std::vector<double> a(200'000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = i % 3 == 0 ? 2.0 : 1.0;
  std::ranges::sort(a);
  const std::uint64_t pairs = std::uint64_t{a.size()} * a.size();
  EXPECT_EQ(nth_difference(a, a, pairs / 2), 0);
  const std::vector<double> x{-2, -1, 0, 1, 2};
  EXPECT_EQ(nth_walsh_average(x, 8), 0);
  EXPECT_EQ(nth_walsh_average(x, 10), 0.5);
}

TEST(Order, RanksShareTheMeanOfTheirPlaces) {
  const Ranks result = ranks(std::vector{3.0, 1.0, 3.0, 2.0, 3.0});
  EXPECT_EQ(result.ranks, (std::vector{4.0, 1.0, 4.0, 2.0, 4.0}));
  EXPECT_EQ(result.ties, 24);
  EXPECT_EQ(median(std::vector{4.0, 1.0, 3.0, 2.0}), 2.5);
  EXPECT_EQ(median(std::vector{4.0, 1.0, 3.0}), 3);
}

TEST(Wilcoxon, WhatCannotBeTestedSaysWhy) {
  const std::vector<double> few{1, 2};
  EXPECT_FALSE(rank_sum(few, {}, 0.05));
  EXPECT_FALSE(rank_sum(few, std::vector{std::nan("")}, 0.05));
  EXPECT_FALSE(rank_sum(few, few, 0));
  EXPECT_FALSE(rank_sum(std::vector{7.0, 7.0}, std::vector{7.0}, 0.05));
  EXPECT_FALSE(signed_rank(few, std::vector{1.0}, 0.05));
  EXPECT_FALSE(signed_rank(few, few, 0.05));
  EXPECT_FALSE(signed_rank({}, {}, 0.05));
  EXPECT_FALSE(signed_rank(std::vector{-1.7e308}, std::vector{1.7e308}, 0.05));
}

}  // namespace
}  // namespace stab::stats
