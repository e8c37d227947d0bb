// SPDX-License-Identifier: MIT
#include "stats/numbers/distribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stats/oracle/expect.h"

namespace stab::stats {
namespace {

using oracle::expect_close;

// R: pf(c(3.235, 1.335), 1, 17, lower.tail = FALSE), rounded to 0.0898 and 0.264 in the paper that
// reports them.
TEST(Distribution, PublishedFOfTheStabilizerPaperGiveTheirP) {
  expect_close(f_tail(3.235, 1, 17), 0.0898596732220316, 1e-12);
  expect_close(f_tail(1.335, 1, 17), 0.26389965177553, 1e-12);
}

// R: qt(0.975, c(1, 5, 17.5)), 2 * pt(-2.5, 7.3)
TEST(Distribution, StudentsTAgreesWithR) {
  expect_close(t_upper_quantile(0.025, 1), 12.7062047361747, 1e-12);
  expect_close(t_upper_quantile(0.025, 5), 2.57058183563631, 1e-12);
  expect_close(t_upper_quantile(0.025, 17.5), 2.10523297222799, 1e-12);
  expect_close(t_two_sided(-2.5, 7.3), 0.0396502346656005, 1e-12);
}

TEST(Distribution, ATailFarOutIsSmallAndNotZero) {
  const auto p = f_tail(5000, 1, 100);
  ASSERT_TRUE(p);
  EXPECT_GT(*p, 0);
  EXPECT_LT(*p, 1e-80);
}

TEST(Distribution, WhatIsNotDefinedIsAbsent) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(f_tail(nan, 1, 1));
  EXPECT_FALSE(f_tail(infinity, 1, 1));
  EXPECT_FALSE(f_tail(-1, 1, 1));
  EXPECT_FALSE(f_tail(1, 0, 1));
  EXPECT_FALSE(f_tail(1, 1, nan));
  EXPECT_FALSE(t_two_sided(1, 0));
  EXPECT_FALSE(t_upper_quantile(0, 5));
  EXPECT_FALSE(t_upper_quantile(0.025, -1));
}

}  // namespace
}  // namespace stab::stats
