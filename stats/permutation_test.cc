// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include "stats/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/oracle/deviation.h"
#include "stats/oracle/simulate.h"
#include "stats/oracle/tests_expected.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

std::vector<double> shifted(std::span<const double> values, double by) {
  std::vector<double> result;
  for (const double x : values) result.push_back(x + by);
  return result;
}

TEST(Permutation, AllArrangementsAgreeWithR) {
  const auto test = permutation_test(shifted(r::normal5, -10), r::normal11, {});
  ASSERT_TRUE(test);
  EXPECT_TRUE(test->exact);
  EXPECT_EQ(test->arrangements, 4368U);
  oracle::expect_near("permutation_test", {test->p}, r::permutation_5_11, 1e-12);
  const auto other = permutation_test(r::normal5, shifted(r::normal3, 9), {});
  ASSERT_TRUE(other);
  oracle::expect_near("permutation_test", {other->p}, r::permutation_5_3, 1e-12);
}

// Fisher: of 70 ways to pick 4 of 8, only the observed one and its mirror are as extreme.
TEST(Permutation, SeparateSamplesHaveTheSmallestPThatThereIs) {
  const auto test =
      permutation_test(std::vector{1.0, 2.0, 3.0, 4.0}, std::vector{11.0, 12.0, 13.0, 14.0}, {});
  ASSERT_TRUE(test);
  EXPECT_EQ(test->arrangements, 70U);
  EXPECT_DOUBLE_EQ(test->p, 2.0 / 70);
  EXPECT_DOUBLE_EQ(test->difference, 10);
}

TEST(Permutation, EqualSumsCountInSpiteOfRounding) {
  // 0.1 + 0.2 and 0.3 + 0.0 are the same distance from the mean.
  const auto test = permutation_test(std::vector{0.1, 0.2}, std::vector{0.3, 0.0}, {});
  ASSERT_TRUE(test);
  EXPECT_DOUBLE_EQ(test->p, 1);
}

TEST(Permutation, DrawnArrangementsComeCloseToAllOfThem) {
  const std::vector<double> a = shifted(r::normal5, -10);
  const auto exact = permutation_test(a, r::normal11, {});
  const auto drawn =
      permutation_test(a, r::normal11, {.seed = 1, .most_exact = 100, .drawn = 40'000});
  ASSERT_TRUE(exact && drawn);
  EXPECT_FALSE(drawn->exact);
  EXPECT_NEAR(drawn->p, exact->p, 4 * std::sqrt(exact->p * (1 - exact->p) / 40'000));
}

TEST(Permutation, TheSeedDecides) {
  const PermutationOptions options{.seed = 7, .most_exact = 0, .drawn = 999};
  const auto one = permutation_test(r::skew30, r::skew60, options);
  const auto same = permutation_test(r::skew30, r::skew60, options);
  ASSERT_TRUE(one && same);
  EXPECT_EQ(one->p, same->p);
  EXPECT_EQ(one->arrangements, 999U);
  EXPECT_GT(permutation_test(r::skew30, shifted(r::skew60, 1e6), options)->p, 0);
}

// A true null hypothesis is rejected at 5 % in 5 % of experiments (1000 of them: within 3 standard
// errors), for skewed numbers too.
TEST(Permutation, HoldsItsErrorRate) {
  oracle::Normal normal(11);
  int rejected = 0;
  for (int i = 0; i < 1000; ++i) {
    std::vector<double> a = normal.sample(12);
    std::vector<double> b = normal.sample(9);
    for (auto* sample : {&a, &b})
      for (double& x : *sample) x = std::exp(2 * x);
    const auto test = permutation_test(
        a, b, {.seed = static_cast<std::uint64_t>(i), .most_exact = 0, .drawn = 399});
    ASSERT_TRUE(test);
    if (test->p <= 0.05) ++rejected;
  }
  EXPECT_NEAR(rejected, 50, 21);
}

TEST(Permutation, WhatCannotBeTestedSaysWhy) {
  const std::vector<double> some{1, 2, 3};
  EXPECT_FALSE(permutation_test(some, {}, {}));
  EXPECT_FALSE(permutation_test(some, std::vector{std::nan("")}, {}));
  EXPECT_FALSE(permutation_test(std::vector{5.0, 5.0}, std::vector{5.0}, {}));
  EXPECT_FALSE(permutation_test(some, some, {.most_exact = 1, .drawn = 0}));
}

}  // namespace
}  // namespace stab::stats
