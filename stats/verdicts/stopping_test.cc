// SPDX-License-Identifier: MIT
// The error rates are simulated by bench/soundness.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "stats/oracle/expect.h"
#include "stats/oracle/tests_expected.h"
#include "stats/planning/repeated.h"
#include "stats/verdicts/decide.h"

namespace stab::stats {
namespace {

void expect_boundaries(const char* name, std::span<const double> fractions, double alpha,
                       std::span<const double> published, double precision) {
  const auto looks = spend_alpha(fractions, alpha);
  ASSERT_TRUE(looks);
  for (std::size_t i = 0; i < published.size(); ++i) {
    ASSERT_TRUE((*looks)[i].z) << i;
    EXPECT_NEAR(*(*looks)[i].z, published[i], precision) << i;
    oracle::Deviations::all().add(name, std::abs(*(*looks)[i].z - published[i]));
  }
  EXPECT_NEAR(looks->back().spent, alpha, 1e-12);
}

// Reboussin, DeMets, Kim, Lan: Computations for group sequential boundaries using the Lan-DeMets
// spending function method, Controlled Clinical Trials 2000: two-sided 5 %, five equal looks.
TEST(SpendAlpha, GivesThePublishedBoundaries) {
  const std::array fractions{0.2, 0.4, 0.6, 0.8, 1.0};
  const std::array published{4.877, 3.357, 2.680, 2.290, 2.031};
  expect_boundaries("spend_alpha (absolute, published)", fractions, 0.05, published, 6e-4);
}

// oracle/tests.R has the recursion on its own, by Simpson's rule.
TEST(SpendAlpha, AgreesWithR) {
  const std::array fractions{0.2, 0.4, 0.6, 0.8, 1.0};
  expect_boundaries("spend_alpha (absolute, R)", fractions, 0.05, oracle::r::boundaries_equal,
                    1e-7);
  const std::array uneven{0.25, 0.3, 0.7, 1.0};
  expect_boundaries("spend_alpha (absolute, R)", uneven, 0.01, oracle::r::boundaries_uneven, 1e-7);
}

TEST(SpendAlpha, OneLookIsTheFixedTest) {
  const auto looks = spend_alpha(std::array{1.0}, 0.05);
  ASSERT_TRUE(looks);
  EXPECT_NEAR(*looks->front().z, 1.959963984540054, 1e-10);
  EXPECT_NEAR(looks->front().nominal, 0.05, 1e-12);
}

// An independent check of the recursion: two looks are a bivariate normal integral, here by a
// plain midpoint sum.
TEST(SpendAlpha, TwoLooksSpendWhatTheySay) {
  const auto looks = spend_alpha(std::array{0.5, 1.0}, 0.05);
  ASSERT_TRUE(looks);
  const double first = *(*looks)[0].z;
  const double last = *(*looks)[1].z;
  const auto phi = [](double z) { return std::exp(-z * z / 2) / std::sqrt(2 * M_PI); };
  const auto tail = [](double z) { return std::erfc(z / std::sqrt(2)) / 2; };
  double rejected = 2 * tail(first);
  const int steps = 20'000;
  const double width = 2 * first / steps;
  for (int i = 0; i < steps; ++i) {
    const double z = -first + (i + 0.5) * width;
    const double mean = z * std::sqrt(0.5);
    rejected += width * phi(z) *
                (tail((last - mean) / std::sqrt(0.5)) + tail((last + mean) / std::sqrt(0.5)));
  }
  EXPECT_NEAR(rejected, 0.05, 1e-8);
}

TEST(SpendAlpha, ManyLooksSpendNoMoreThanFew) {
  std::vector<double> fractions;
  for (int i = 1; i <= 100; ++i) fractions.push_back(i / 100.0);
  const auto looks = spend_alpha(fractions, 0.05);
  ASSERT_TRUE(looks);
  EXPECT_FALSE(looks->front().z);  // 1 % of the data cannot stop anything
  EXPECT_EQ(looks->front().nominal, 0);
  EXPECT_NEAR(looks->back().spent, 0.05, 1e-12);
  double last = 100;
  for (const Look& look : *looks) {
    if (!look.z) continue;
    EXPECT_LT(*look.z, last);
    last = *look.z;
  }
  EXPECT_GT(last, 1.96);
  EXPECT_LT(last, 2.2);
}

TEST(SpendAlpha, WhatCannotBePlannedSaysWhy) {
  EXPECT_FALSE(spend_alpha({}, 0.05));
  EXPECT_FALSE(spend_alpha(std::array{0.5, 0.5}, 0.05));
  EXPECT_FALSE(spend_alpha(std::array{0.0, 1.0}, 0.05));
  EXPECT_FALSE(spend_alpha(std::array{0.5, 1.1}, 0.05));
  EXPECT_FALSE(spend_alpha(std::array{std::nan("")}, 0.05));
  EXPECT_FALSE(spend_alpha(std::array{1.0}, 1));
}

Effect effect(double low, double high) {
  return {.ratio = (low + high) / 2, .low = low, .high = high};
}

TEST(Precision, StopsWhenEveryIntervalIsNarrow) {
  const PrecisionRule rule{.half_width = 0.005, .min_blocks = 15, .max_blocks = 40};
  const std::array narrow{effect(0.996, 1.004), effect(1.2, 1.2099)};
  const std::array one_wide{effect(0.996, 1.004), effect(1.2, 1.22)};
  EXPECT_EQ(decide(rule, 14, narrow), Stop::go_on);
  EXPECT_EQ(decide(rule, 15, narrow), Stop::precise);
  EXPECT_EQ(decide(rule, 39, one_wide), Stop::go_on);
  EXPECT_EQ(decide(rule, 40, one_wide), Stop::exhausted);
  EXPECT_EQ(decide(rule, 40, narrow), Stop::precise);
}

TEST(Precision, WithoutAnIntervalItGoesOn) {
  const PrecisionRule rule{.half_width = 0.005, .min_blocks = 15, .max_blocks = 40};
  EXPECT_EQ(decide(rule, 20, std::array{Effect{.ratio = 1}}), Stop::go_on);
  EXPECT_EQ(decide(rule, 20, {}), Stop::go_on);
  EXPECT_EQ(decide(rule, 40, {}), Stop::exhausted);
}

}  // namespace
}  // namespace stab::stats
