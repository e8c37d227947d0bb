// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/oracle/expect.h"
#include "stats/oracle/tests_expected.h"
#include "stats/tests/estimate.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

void expect_test(const char* name, const Result<Estimate>& estimate,
                 std::span<const double> expected) {
  ASSERT_TRUE(estimate) << estimate.error().message;
  const auto interval = difference_interval(*estimate, 0.05);
  const auto p = p_value(*estimate);
  ASSERT_TRUE(interval && p);
  const double t = estimate->difference / std::sqrt(estimate->variance);
  oracle::expect_near(name, {t, estimate->df, *p, interval->low, interval->high}, expected, 1e-11);
}

TEST(Student, AgreesWithR) {
  expect_test("student", student(moments(r::normal11), moments(r::normal12)), r::student);
  expect_test("paired", paired(r::before, r::after), r::paired);
}

// R's sleep, extra hours under two drugs to the same ten people: t = 4.0621 (Student, 1908; R:
// t.test(paired = TRUE)).
TEST(Student, ThePairedTestOfHisOwnPaper) {
  const std::vector<double> drug1{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
  const std::vector<double> drug2{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
  const auto estimate = paired(drug1, drug2);
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(estimate->difference / std::sqrt(estimate->variance), 4.0621, 5e-5);
  EXPECT_NEAR(*p_value(*estimate), 0.00283289019738427, 1e-14);
}

// Fieller's interval of a ratio needs the covariance of difference and base: that of the mean of b
// over the mean of a is the same as that of the pairs' own moments.
TEST(Student, PairsKeepTheCovarianceThatARatioNeeds) {
  const auto estimate = paired(r::before, r::after);
  ASSERT_TRUE(estimate);
  const Moments a = moments(r::before);
  const Moments b = moments(r::after);
  double products = 0;
  for (std::size_t i = 0; i < r::before.size(); ++i)
    products += (r::before[i] - a.mean) * (r::after[i] - b.mean);
  const double n = 20;
  EXPECT_NEAR(estimate->base_covariance, (products - a.ss) / (n - 1) / n, 1e-12);
  EXPECT_NEAR(estimate->base_variance, a.ss / (n - 1) / n, 1e-12);
}

TEST(Student, WhatCannotBeTestedSaysWhy) {
  const auto numbers = [](std::vector<double> values) { return moments(values); };
  EXPECT_FALSE(student(numbers({1}), numbers({2})));
  EXPECT_FALSE(student(numbers({}), numbers({1, 2, 3})));
  EXPECT_FALSE(student(numbers({1, 1}), numbers({2, 2})));
  EXPECT_FALSE(student(numbers({1, std::nan("")}), numbers({2, 3})));
  EXPECT_FALSE(paired(std::vector{1.0}, std::vector{2.0}));
  EXPECT_FALSE(paired(std::vector{1.0, 2.0}, std::vector{2.0}));
  EXPECT_FALSE(paired(std::vector{1.0, 2.0, 3.1}, std::vector{2.0, 3.0, 4.1}));
  EXPECT_FALSE(paired(std::vector{1.0, 2.0}, std::vector{2.0, std::nan("")}));
}

}  // namespace
}  // namespace stab::stats
