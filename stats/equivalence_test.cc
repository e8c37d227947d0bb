// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include "stats/equivalence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stats/oracle/deviation.h"
#include "stats/oracle/tests_expected.h"
#include "stats/student.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

TEST(Tost, AgreesWithR) {
  const auto estimate = paired(r::before, r::after);
  ASSERT_TRUE(estimate);
  const auto test = tost(*estimate, {-3, 3});
  ASSERT_TRUE(test);
  oracle::expect_near("tost", {test->p_low, test->p_high}, r::tost, 1e-11);
  EXPECT_EQ(test->p, std::max(test->p_low, test->p_high));
}

TEST(Tost, IsTheSameAsTheNarrowInterval) {
  const Estimate estimate{.difference = 0.004, .variance = 1e-6, .df = 12};
  for (const double alpha : {0.01, 0.05, 0.2}) {
    const auto interval = difference_interval(estimate, 2 * alpha);
    ASSERT_TRUE(interval);
    const double bound = std::max(std::abs(interval->low), std::abs(interval->high));
    EXPECT_LT(tost(estimate, {-bound * 1.001, bound * 1.001})->p, alpha);
    EXPECT_GT(tost(estimate, {-bound * 0.999, bound * 0.999})->p, alpha);
  }
}

// One estimate a benchmark: 20 degrees of freedom, standard error 0.001.
std::vector<Estimate> benchmarks(std::initializer_list<double> differences) {
  std::vector<Estimate> result;
  for (const double difference : differences)
    result.push_back({.difference = difference, .variance = 1e-6, .df = 20});
  return result;
}

TEST(Family, EachVerdictIsWhatItsIntervalShows) {
  const auto effects = family_effects(benchmarks({0, -0.02, 0.02, 0.0095, -0.0025}), 0.05, 0.01);
  ASSERT_TRUE(effects);
  const std::vector<Verdict> expected{Verdict::same, Verdict::faster, Verdict::slower,
                                      Verdict::slower, Verdict::same};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ((*effects)[i].verdict, expected[i]) << i;
  const Effect& fourth = (*effects)[3];  // not within the margin, and clearly above 1
  EXPECT_GT(*fourth.low, 1);
  EXPECT_GT(*fourth.tost_high, 1.01);
}

TEST(Family, IntervalsGrowWithTheNumberOfComparisons) {
  const auto one = family_effects(benchmarks({0.0025}), 0.05, std::nullopt);
  const auto three = family_effects(benchmarks({0.0025, 0, 0}), 0.05, std::nullopt);
  ASSERT_TRUE(one && three);
  EXPECT_EQ((*one)[0].verdict, Verdict::slower);
  EXPECT_EQ((*three)[0].verdict, Verdict::unsure);
  EXPECT_NEAR(*(*three)[0].p, 3 * *(*one)[0].p, 1e-15);
  const auto wide = difference_interval(benchmarks({0.0025})[0], 0.05 / 3);
  EXPECT_DOUBLE_EQ(*(*three)[0].high, std::exp(wide->high));
}

TEST(Family, AnEstimateWithoutErrorIsUnsure) {
  std::vector<Estimate> estimates = benchmarks({0.5});
  estimates.push_back({.difference = 0.5});
  const auto effects = family_effects(estimates, 0.05, 0.01);
  ASSERT_TRUE(effects);
  EXPECT_EQ((*effects)[1].verdict, Verdict::unsure);
  EXPECT_FALSE((*effects)[1].low);
  EXPECT_TRUE((*effects)[1].ratio);
}

TEST(Equivalence, WhatCannotBeToldSaysWhy) {
  const Estimate estimate{.difference = 0, .variance = 1, .df = 5};
  EXPECT_FALSE(tost(estimate, {1, -1}));
  EXPECT_FALSE(tost(estimate, {std::nan(""), 1}));
  EXPECT_FALSE(tost(Estimate{.difference = 0}, {-1, 1}));
  EXPECT_FALSE(log_bounds(0));
  EXPECT_FALSE(log_bounds(std::numeric_limits<double>::infinity()));
  EXPECT_NEAR(log_bounds(0.01)->high, std::log(1.01), 1e-15);
  EXPECT_FALSE(family_effects({}, 0.5, std::nullopt));
  EXPECT_FALSE(family_effects({}, 0.05, -1));
  EXPECT_TRUE(family_effects({}, 0.05, 0.01)->empty());
}

}  // namespace
}  // namespace stab::stats
