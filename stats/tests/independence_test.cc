// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "stats/numbers/summary.h"
#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"
#include "stats/oracle/tests_expected.h"
#include "stats/tests/diagnostics.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

void expect_moran(std::span<const double> sample, std::span<const double> expected) {
  const auto test = lag1_autocorrelation(sample);
  ASSERT_TRUE(test);
  oracle::expect_near("lag1_autocorrelation", {test->r, test->z, test->p}, expected, 1e-9);
}

TEST(Autocorrelation, AgreesWithR) {
  expect_moran(r::walk60, r::moran_walk60);
  expect_moran(r::normal40, r::moran_normal40);
}

// The mean and the variance that the test uses are those of independent samples.
TEST(Autocorrelation, OfIndependentNumbersHasTheMomentsOfTheTest) {
  oracle::Normal normal(2);
  Moments z;
  for (int i = 0; i < 20'000; ++i) {
    const auto test = lag1_autocorrelation(normal.sample(12));
    ASSERT_TRUE(test);
    z.add(test->z);
  }
  EXPECT_NEAR(z.mean, 0, 4 / std::sqrt(20'000));
  EXPECT_NEAR(*z.variance(), 1, 0.04);
}

void expect_runs(std::span<const double> sample, std::span<const double> expected) {
  const auto test = runs_test(sample);
  ASSERT_TRUE(test);
  EXPECT_EQ(test->below, expected[0]);
  EXPECT_EQ(test->above, expected[1]);
  EXPECT_EQ(test->runs, expected[2]);
  oracle::expect_near("runs_test", {test->p}, expected.subspan(test->exact ? 3 : 4, 1), 1e-11);
}

TEST(Runs, AgreeWithR) {
  expect_runs(r::walk60, r::runs_walk60);
  expect_runs(r::walk300, r::runs_walk300);
  expect_runs(r::ties25, r::runs_ties25);
  EXPECT_TRUE(runs_test(r::walk60)->exact);
  EXPECT_FALSE(runs_test(r::walk300)->exact);
}

// Two of each: 6 arrangements, 2 of them with 2 runs, 2 with 3, 2 with 4.
TEST(Runs, OfFourNumbersAreCounted) {
  const auto test = runs_test(std::vector{1.0, 2.0, 8.0, 9.0});
  ASSERT_TRUE(test);
  EXPECT_EQ(test->runs, 2U);
  EXPECT_DOUBLE_EQ(test->p, 2 * 2.0 / 6);
  EXPECT_DOUBLE_EQ(test->expected, 3);
}

TEST(Runs, ADriftAndAnAlternationAreBothSeen) {
  std::vector<double> drift;
  std::vector<double> alternation;
  for (int i = 0; i < 30; ++i) {
    drift.push_back(i);
    alternation.push_back(i % 2 == 0 ? i : -i);
  }
  EXPECT_LT(runs_test(drift)->p, 1e-6);
  EXPECT_LT(runs_test(alternation)->p, 1e-6);
}

TEST(Independence, WhatCannotBeTestedSaysWhy) {
  EXPECT_FALSE(lag1_autocorrelation(std::vector{1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0}));
  EXPECT_FALSE(lag1_autocorrelation(std::vector<double>(20, 1e9)));
  EXPECT_FALSE(lag1_autocorrelation(std::vector<double>(20, std::nan(""))));
  EXPECT_FALSE(runs_test(std::vector{1.0, 2.0, 3.0}));
  EXPECT_FALSE(runs_test(std::vector<double>(20, 1e9)));
  EXPECT_FALSE(runs_test(std::vector{1.0, 1.0, 1.0, 1.0, 1.0, 2.0}));
  EXPECT_FALSE(runs_test(std::vector{1.0, 1.0, 1.0, 1.0, 1.0, std::nan("")}));
}

}  // namespace
}  // namespace stab::stats
