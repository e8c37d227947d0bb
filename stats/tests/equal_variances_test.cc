// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include <gtest/gtest.h>

#include <cmath>

#include "stats/oracle/expect.h"
#include "stats/oracle/tests_expected.h"
#include "stats/tests/variances.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;
using Groups = std::vector<std::vector<double>>;

Groups unlike_groups() {
  return {{r::normal12.begin(), r::normal12.end()},
          {r::skew30.begin(), r::skew30.end()},
          {r::ties25.begin(), r::ties25.end()}};
}

TEST(EqualVariances, AgreeWithR) {
  const auto test = brown_forsythe(unlike_groups());
  ASSERT_TRUE(test);
  oracle::expect_near("brown_forsythe", {test->f, test->p}, r::brown_forsythe_groups, 1e-11);
  EXPECT_EQ(test->df1, 2);
  EXPECT_EQ(test->df2, 64);
}

// Times in nanoseconds around an hour: the spread is 1e-12 of the size.
TEST(EqualVariances, KeepTheirDigitsFarFromZero) {
  Groups near;
  Groups far;
  for (const auto& group : unlike_groups()) {
    near.emplace_back();
    far.emplace_back();
    for (const double x : group) {
      near.back().push_back(std::round(10 * x));
      far.back().push_back(3.6e12 + std::round(10 * x));
    }
  }
  const auto one = brown_forsythe(near);
  const auto other = brown_forsythe(far);
  ASSERT_TRUE(one && other);
  EXPECT_NEAR(one->f, other->f, 1e-9 * one->f);
}

TEST(EqualVariances, GroupsThatVaryEquallyPass) {
  const auto test = brown_forsythe(Groups{{1, 2, 3, 4, 5}, {11, 12, 13, 14, 15}});
  ASSERT_TRUE(test);
  EXPECT_NEAR(test->f, 0, 1e-20);
  EXPECT_NEAR(test->p, 1, 1e-9);
}

TEST(EqualVariances, WhatCannotBeTestedSaysWhy) {
  EXPECT_FALSE(brown_forsythe(Groups{}));
  EXPECT_FALSE(brown_forsythe(Groups{{1, 2, 3}}));
  EXPECT_FALSE(brown_forsythe(Groups{{1, 2, 3}, {1}}));
  EXPECT_FALSE(brown_forsythe(Groups{{1, 2, 3}, {}}));
  EXPECT_FALSE(brown_forsythe(Groups{{1, 2, 3}, {1, std::nan("")}}));
  EXPECT_FALSE(brown_forsythe(Groups{{1e308, -1e308, 1}, {1, 2, 3}}));
  EXPECT_FALSE(brown_forsythe(Groups{{5, 5, 5}, {7, 7, 7}}));
  EXPECT_FALSE(
      brown_forsythe(Groups{{0.1, 0.3}, {0.7, 1.9}}));  // two are equally far from their median
}

}  // namespace
}  // namespace stab::stats
