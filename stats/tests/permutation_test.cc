// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"
#include "stats/oracle/tests_expected.h"
#include "stats/tests/randomization.h"
#include "stats/tests/wilcoxon.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

using Numbers = std::vector<double>;
using Strata = std::vector<Stratum>;

Numbers numbers(std::span<const double> values) {
  return {values.begin(), values.end()};
}

// Of one stratum.
Result<PermutationTest> test_of(std::span<const double> a, std::span<const double> b,
                                const PermutationOptions& options) {
  return permutation_test(Strata{{.base = numbers(a), .level = numbers(b)}}, options);
}

std::vector<double> shifted(std::span<const double> values, double by) {
  std::vector<double> result;
  for (const double x : values) result.push_back(x + by);
  return result;
}

TEST(Permutation, AllArrangementsAgreeWithR) {
  const auto test = test_of(shifted(r::normal5, -10), r::normal11, {});
  ASSERT_TRUE(test);
  EXPECT_TRUE(test->exact);
  EXPECT_EQ(test->arrangements, 4368U);
  oracle::expect_near("permutation_test", {test->p}, r::permutation_5_11, 1e-12);
  const auto other = test_of(r::normal5, shifted(r::normal3, 9), {});
  ASSERT_TRUE(other);
  oracle::expect_near("permutation_test", {other->p}, r::permutation_5_3, 1e-12);
}

// Fisher: of 70 ways to pick 4 of 8, only the observed one and its mirror are as extreme.
TEST(Permutation, SeparateSamplesHaveTheSmallestPThatThereIs) {
  const auto test =
      test_of(std::vector{1.0, 2.0, 3.0, 4.0}, std::vector{11.0, 12.0, 13.0, 14.0}, {});
  ASSERT_TRUE(test);
  EXPECT_EQ(test->arrangements, 70U);
  EXPECT_DOUBLE_EQ(test->p, 2.0 / 70);
  EXPECT_DOUBLE_EQ(test->statistic, 10);
}

TEST(Permutation, EqualSumsCountInSpiteOfRounding) {
  // 0.1 + 0.2 and 0.3 + 0.0 are the same distance from the mean.
  const Strata strata(2, Stratum{.base = {0.1, 0.2}, .level = {0.3, 0.0}});
  const auto test = permutation_test(strata, {});
  ASSERT_TRUE(test);
  EXPECT_EQ(test->arrangements, 36U);
  EXPECT_DOUBLE_EQ(test->p, 1);
}

Strata strata_of_r() {
  const std::span<const double> base(r::normal12);
  const std::span<const double> level(r::ties25);
  return {{.base = numbers(base.first(2)), .level = numbers(level.first(2))},
          {.base = numbers(base.subspan(2, 3)), .level = numbers(level.subspan(2, 2))},
          {.base = numbers(base.subspan(5, 1)), .level = numbers(level.subspan(4, 3))}};
}

TEST(Permutation, WithinStrataAgreesWithR) {
  const auto means = permutation_test(strata_of_r(), {});
  const auto sums = stratified_rank_sum(strata_of_r(), {});
  ASSERT_TRUE(means && sums);
  EXPECT_EQ(means->arrangements, 240U);
  oracle::expect_near("permutation_test", {means->statistic, means->p}, r::permutation_strata,
                      1e-12);
  oracle::expect_near("stratified_rank_sum", {sums->statistic, sums->p}, r::van_elteren, 1e-12);
}

TEST(Permutation, OfOneStratumTheRankSumIsWilcoxons) {
  const Strata one{{.base = shifted(r::normal5, -10), .level = numbers(r::normal11)}};
  const auto test = stratified_rank_sum(one, {});
  const auto wilcoxon = rank_sum(one[0].base, one[0].level, 0.05);
  ASSERT_TRUE(test && wilcoxon);
  EXPECT_NEAR(test->p, wilcoxon->p, 1e-12);
}

TEST(Permutation, WhatStrataHaveInCommonDoesNotMatter) {
  Strata moved = strata_of_r();
  for (std::size_t i = 0; i < moved.size(); ++i)
    for (auto* side : {&moved[i].base, &moved[i].level})
      for (double& x : *side) x += 100.0 * static_cast<double>(i);
  EXPECT_NEAR(permutation_test(moved, {})->p, permutation_test(strata_of_r(), {})->p, 1e-12);
  EXPECT_NEAR(stratified_rank_sum(moved, {})->p, stratified_rank_sum(strata_of_r(), {})->p, 1e-12);
}

TEST(Permutation, DrawnArrangementsComeCloseToAllOfThem) {
  const std::vector<double> a = shifted(r::normal5, -10);
  const auto exact = test_of(a, r::normal11, {});
  const auto drawn = test_of(a, r::normal11, {.seed = 1, .most_exact = 100, .drawn = 40'000});
  ASSERT_TRUE(exact && drawn);
  EXPECT_FALSE(drawn->exact);
  EXPECT_NEAR(drawn->p, exact->p, 4 * std::sqrt(exact->p * (1 - exact->p) / 40'000));
}

TEST(Permutation, TheSeedDecides) {
  const PermutationOptions options{.seed = 7, .most_exact = 0, .drawn = 999};
  const auto one = test_of(r::skew30, r::skew60, options);
  const auto same = test_of(r::skew30, r::skew60, options);
  ASSERT_TRUE(one && same);
  EXPECT_EQ(one->p, same->p);
  EXPECT_EQ(one->arrangements, 999U);
  EXPECT_GT(test_of(r::skew30, shifted(r::skew60, 1e6), options)->p, 0);
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
    const auto test =
        test_of(a, b, {.seed = static_cast<std::uint64_t>(i), .most_exact = 0, .drawn = 399});
    ASSERT_TRUE(test);
    if (test->p <= 0.05) ++rejected;
  }
  EXPECT_NEAR(rejected, 50, 21);
}

// Two runs a cell of a 2 x 4 design, two levels in four strata, and four levels in two: cells
// differ much, the noise is skewed. At most 5 % of 2000 plus three standard errors.
TEST(Permutation, HoldsItsErrorRateWithTwoRunsACell) {
  oracle::Normal normal(12);
  for (const std::size_t cells : {4, 2}) {
    int by_means = 0;
    int by_ranks = 0;
    for (int i = 0; i < 2000; ++i) {
      Strata strata(cells);
      for (std::size_t s = 0; s < cells; ++s)
        for (auto* side : {&strata[s].base, &strata[s].level})
          for (int run = 0; run < 2; ++run)
            side->push_back(10.0 * static_cast<double>(s) + std::exp(normal.next()));
      const auto means = permutation_test(strata, {});
      const auto sums = stratified_rank_sum(strata, {});
      ASSERT_TRUE(means && sums);
      EXPECT_TRUE(means->exact && sums->exact);
      if (means->p <= 0.05) ++by_means;
      if (sums->p <= 0.05) ++by_ranks;
    }
    EXPECT_LE(by_means, 129) << cells;
    EXPECT_LE(by_ranks, 129) << cells;
  }
}

TEST(Permutation, StrataThatAreTooSmallHaveNoTest) {
  const Strata strata{{.base = {1, 2}, .level = {3, 4}}, {.base = {1}, .level = {2, 3}}};
  EXPECT_FALSE(permutation_test(strata, {}));  // 18 arrangements
  EXPECT_FALSE(stratified_rank_sum(strata, {}));
  EXPECT_FALSE(permutation_test(Strata{}, {}));
}

TEST(Permutation, WhatCannotBeTestedSaysWhy) {
  const std::vector<double> some{1, 2, 3};
  EXPECT_FALSE(test_of(some, {}, {}));
  EXPECT_FALSE(test_of(some, std::vector{std::nan("")}, {}));
  EXPECT_FALSE(test_of(std::vector{5.0, 5.0}, std::vector{5.0}, {}));
  EXPECT_FALSE(test_of(some, some, {.most_exact = 1, .drawn = 0}));
}

}  // namespace
}  // namespace stab::stats
