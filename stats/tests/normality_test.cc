// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "stats/numbers/summary.h"
#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"
#include "stats/oracle/tests_expected.h"
#include "stats/tests/diagnostics.h"

namespace stab::stats {
namespace {

using oracle::expect_near;
namespace r = oracle::r;

void expect_shapiro(std::span<const double> sample, std::span<const double> expected) {
  const auto test = shapiro_wilk(sample);
  ASSERT_TRUE(test) << test.error().message;
  expect_near("shapiro_wilk: W", {test->statistic}, expected.first(1), 1e-11);
  expect_near("shapiro_wilk: p", {test->p}, expected.last(1), 1e-8);
}

void expect_anderson(std::span<const double> sample, std::span<const double> expected) {
  const auto test = anderson_darling(sample);
  ASSERT_TRUE(test) << test.error().message;
  expect_near("anderson_darling: A", {test->statistic}, expected.first(1), 1e-9);
  expect_near("anderson_darling: p", {test->p}, expected.last(1), 1e-8);
}

std::vector<double> uniforms(std::size_t n) {
  oracle::Generator generator(77);
  std::vector<double> values(n);
  for (double& x : values) x = generator.uniform();
  return values;
}

TEST(ShapiroWilk, AgreesWithR) {
  expect_shapiro(r::normal3, r::shapiro_normal3);
  expect_shapiro(r::normal5, r::shapiro_normal5);
  expect_shapiro(r::normal11, r::shapiro_normal11);
  expect_shapiro(r::normal12, r::shapiro_normal12);
  expect_shapiro(r::normal40, r::shapiro_normal40);
  expect_shapiro(r::skew30, r::shapiro_skew30);
  expect_shapiro(r::skew60, r::shapiro_skew60);
  expect_shapiro(r::ties25, r::shapiro_ties25);
}

// The weights of eleven men in the paper that introduced the test: W = 0.79 (Shapiro and Wilk,
// Biometrika 1965); p by R.
TEST(ShapiroWilk, ThePublishedExample) {
  const auto test =
      shapiro_wilk(std::vector<double>{148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236});
  ASSERT_TRUE(test);
  EXPECT_NEAR(test->statistic, 0.79, 0.005);
  EXPECT_NEAR(test->p, 0.006704, 5e-7);
}

TEST(ShapiroWilk, AgreesWithRForAsManyNumbersAsItIsDefinedFor) {
  const std::vector<double> values = uniforms(5000);
  expect_shapiro(values, r::shapiro_uniform_5000);
  expect_shapiro(std::span(values).first(4999), r::shapiro_uniform_4999);
  std::vector<double> sums;
  for (std::size_t i = 0; i + 2 < 4999; i += 3)
    sums.push_back(values[i] + values[i + 1] + values[i + 2]);
  expect_shapiro(sums, r::shapiro_sum_5000);
}

TEST(ShapiroWilk, AnOutlierLeavesNoDoubt) {
  const auto test = shapiro_wilk(r::outlier);
  ASSERT_TRUE(test);
  expect_near("shapiro_wilk: W", {test->statistic}, std::span(r::shapiro_outlier).first(1), 1e-9);
  EXPECT_GT(test->p, 0);
  EXPECT_LT(test->p, 1e-15);
}

TEST(ShapiroWilk, IsTheSameOnAnyScale) {
  std::vector<double> scaled;
  for (const double x : r::skew30) scaled.push_back(1e15 + 1e9 * x);
  const auto one = shapiro_wilk(r::skew30);
  const auto other = shapiro_wilk(scaled);
  ASSERT_TRUE(one && other);
  EXPECT_NEAR(one->statistic, other->statistic, 1e-6);
}

TEST(ShapiroWilk, WhatCannotBeTestedSaysWhy) {
  EXPECT_FALSE(shapiro_wilk(std::vector{1.0, 2.0}));
  EXPECT_FALSE(shapiro_wilk(std::vector<double>(10, 3.7)));
  EXPECT_FALSE(shapiro_wilk(std::vector{1.0, 2.0, std::nan("")}));
  EXPECT_FALSE(shapiro_wilk(std::vector{1.0, 2.0, std::numeric_limits<double>::infinity()}));
  EXPECT_FALSE(shapiro_wilk(uniforms(5001)));
  EXPECT_EQ(shapiro_wilk(std::vector{1.0}).error().message,
            "the Shapiro-Wilk test needs at least 3 values, but there are 1");
}

TEST(ShapiroWilk, NumbersAsFarApartAsDoublesGoAreNoNan) {
  const auto test = shapiro_wilk(std::vector{-1.7e308, 0.0, 1.7e308, 1.0});
  EXPECT_FALSE(test);
  const auto tiny = shapiro_wilk(std::vector{1e-320, 2e-320, 4e-320, 9e-320});
  if (tiny) EXPECT_TRUE(std::isfinite(tiny->statistic));
}

TEST(AndersonDarling, AgreesWithR) {
  expect_anderson(r::normal11, r::anderson_normal11);
  expect_anderson(r::normal12, r::anderson_normal12);
  expect_anderson(r::normal40, r::anderson_normal40);
  expect_anderson(r::skew30, r::anderson_skew30);
  expect_anderson(r::skew60, r::anderson_skew60);
  expect_anderson(r::ties25, r::anderson_ties25);
  expect_anderson(r::outlier, r::anderson_outlier);
  expect_anderson(uniforms(5000), r::anderson_uniform_5000);
}

TEST(AndersonDarling, WhatCannotBeTestedSaysWhy) {
  EXPECT_FALSE(anderson_darling(std::vector{1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0}));
  EXPECT_FALSE(anderson_darling(std::vector<double>(20, 0.1)));
  EXPECT_FALSE(anderson_darling(std::vector<double>(20, std::nan(""))));
}

// More numbers than this are sorted in parts; an outlier leaves fewer parts for the others.
TEST(AndersonDarling, IsItsDefinitionAlsoForManyNumbers) {
  for (const double outlier : {0.5, 8.0}) {
    std::vector<double> values = uniforms(30'000);
    values[17] = outlier;
    const auto test = anderson_darling(values);
    ASSERT_TRUE(test);
    const Moments all = moments(values);
    std::ranges::sort(values);
    const double n = static_cast<double>(values.size());
    const auto log_cdf = [&](double x, double sign) {
      return std::log(std::erfc(-sign * (x - all.mean) / std::sqrt(2 * all.ss / (n - 1))) / 2);
    };
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double place = static_cast<double>(i);
      sum += (2 * place + 1) * log_cdf(values[i], 1);
      sum += (2 * (n - 1 - place) + 1) * log_cdf(values[i], -1);
    }
    EXPECT_NEAR(test->statistic, -n - sum / n, 1e-6) << outlier;
  }
}

TEST(AndersonDarling, ManyNumbersAsFarApartAsDoublesGoAreNoNan) {
  std::vector<double> values = uniforms(20'000);
  values.front() = -1.7e308;
  values.back() = 1.7e308;
  const auto test = anderson_darling(values);
  if (test) EXPECT_FALSE(std::isnan(test->statistic));
}

TEST(AndersonDarling, NumbersFarOutInTheTailAreNoInfinity) {
  std::vector<double> values(4000, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 7);
  values.front() = -1e12;
  const auto test = anderson_darling(values);
  ASSERT_TRUE(test);
  EXPECT_TRUE(std::isfinite(test->statistic));
  EXPECT_GT(test->p, 0);
}

}  // namespace
}  // namespace stab::stats
