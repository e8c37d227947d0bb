// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include "stats/planning/power.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"
#include "stats/oracle/tests_expected.h"
#include "stats/tests/estimate.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

std::size_t size(double n) {
  return static_cast<std::size_t>(n);
}

void expect_powers(Samples kind, std::span<const double> rows) {
  for (std::size_t i = 0; i < rows.size(); i += 5)
    oracle::expect_near(
        "t_power",
        {t_power(kind, size(rows[i]), rows[i + 1], rows[i + 2], rows[i + 3]).value_or(-1)},
        rows.subspan(i + 4, 1), 1e-8);
}

TEST(Power, OfTTestsAgreesWithR) {
  expect_powers(Samples::two, r::power_two);
  expect_powers(Samples::paired, r::power_paired);
}

TEST(Power, DetectableDifferencesAgreeWithR) {
  const std::span<const double> rows = r::detectable_two;
  for (std::size_t i = 0; i < rows.size(); i += 3)
    oracle::expect_near(
        "t_detectable",
        {t_detectable(Samples::two, size(rows[i]), 2, 0.05, rows[i + 1]).value_or(-1)},
        rows.subspan(i + 2, 1), 1e-8);
}

TEST(Power, NeededRepetitionsAgreeWithR) {
  EXPECT_EQ(t_needed(Samples::two, 0.3, 1, 0.05, 0.9).value_or(0), size(r::needed_two[0]));
  EXPECT_EQ(t_needed(Samples::two, 3, 1, 0.05, 0.8).value_or(0), size(r::needed_two[1]));
  EXPECT_EQ(t_needed(Samples::paired, 0.3, 1, 0.05, 0.9).value_or(0), size(r::needed_paired[0]));
}

// Cohen's table 2.3.5: d = 0.5, two-sided 5 %: 64 in each sample for a power of 0.80.
TEST(Power, CohensTable) {
  EXPECT_EQ(t_needed(Samples::two, 0.5, 1, 0.05, 0.8).value_or(0), 64U);
  EXPECT_NEAR(t_power(Samples::two, 64, 0.5, 1, 0.05).value_or(0), 0.80, 0.005);
}

TEST(Power, OfAStandardErrorIsThatOfItsDegreesOfFreedom) {
  const auto pairs = t_detectable(Samples::paired, 16, 2, 0.05, 0.8);
  const auto error = t_detectable(0.5, 15, 0.05, 0.8);
  ASSERT_TRUE(pairs && error);
  EXPECT_DOUBLE_EQ(*pairs, *error);
  EXPECT_FALSE(t_detectable(0.5, 0, 0.05, 0.8));
  EXPECT_FALSE(t_detectable(0, 15, 0.05, 0.8));
}

TEST(Power, TheHalfWidthIsReachedAsOftenAsSaid) {
  const auto n = needed_for_half_width(Samples::paired, 0.5, 1, 0.05, 0.9);
  ASSERT_TRUE(n);
  const auto reached = [](std::size_t count) {
    oracle::Normal normal(8);
    int narrow = 0;
    for (int i = 0; i < 4000; ++i) {
      const auto interval = mean_interval(moments(normal.sample(count)), 0.05);
      if ((interval->high - interval->low) / 2 <= 0.5) ++narrow;
    }
    return narrow / 4000.0;
  };
  EXPECT_GT(reached(*n), 0.9 - 0.015);
  EXPECT_LT(reached(*n - 1), 0.9 + 0.015);
}

TEST(Power, WhatCannotBePlannedSaysWhy) {
  EXPECT_FALSE(t_power(Samples::two, 1, 1, 1, 0.05));
  EXPECT_FALSE(t_power(Samples::two, 10, 1, 0, 0.05));
  EXPECT_FALSE(t_power(Samples::two, 10, std::nan(""), 1, 0.05));
  EXPECT_FALSE(t_power(Samples::two, 10, 1, 1, 1));
  EXPECT_FALSE(t_detectable(Samples::two, 10, 1, 0.05, 0.01));
  EXPECT_FALSE(t_detectable(Samples::two, 10, 1, 0.05, 1));
  EXPECT_FALSE(t_needed(Samples::two, 0, 1, 0.05, 0.8));
  EXPECT_FALSE(t_needed(Samples::two, 1e-6, 1, 0.05, 0.8));
  EXPECT_FALSE(needed_for_half_width(Samples::two, 0, 1, 0.05, 0.9));
  EXPECT_FALSE(needed_for_half_width(Samples::two, 1e-9, 1, 0.05, 0.9));
}

}  // namespace
}  // namespace stab::stats
