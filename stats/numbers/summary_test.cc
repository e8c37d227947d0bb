// SPDX-License-Identifier: MIT
#include "stats/numbers/summary.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"

namespace stab::stats {
namespace {

using oracle::expect_close;

// make.R: control
TEST(Summary, MeanSdAndIntervalAgreeWithR) {
  const Dataset data = oracle::plant_growth();
  const Moments found = moments(std::span(data.response).first(10));
  const auto variance = found.variance();
  const auto interval = mean_interval(found, 0.05);
  ASSERT_TRUE(variance && interval);
  EXPECT_EQ(found.n, 10U);
  expect_close(found.mean, 5.032);
  expect_close(std::sqrt(*variance), 0.583091378392406);
  expect_close(interval->low, 4.61488155565504);
  expect_close(interval->high, 5.44911844434496);
}

TEST(Summary, ALargeOffsetCostsNoDigitsOfTheVariance) {
  const Moments found = moments(std::array{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16});
  expect_close(found.mean, 1e9 + 10, 1e-15);
  expect_close(found.variance(), 30.0);
}

TEST(Summary, MergedMomentsAreThoseOfAllNumbers) {
  const std::vector<double> all{3, 1, 4, 1, 5, 9, 2, 6};
  Moments merged = moments(std::span(all).first(3));
  merged.merge(moments(std::span(all).subspan(3)));
  merged.merge(Moments());
  const Moments whole = moments(all);
  EXPECT_EQ(merged.n, whole.n);
  expect_close(merged.mean, whole.mean);
  expect_close(merged.ss, whole.ss);
}

TEST(Summary, WhatCannotBeComputedIsAbsent) {
  EXPECT_FALSE(moments({}).variance());
  EXPECT_FALSE(mean_interval(moments({}), 0.05));
  const Moments one = moments(std::array{5.0});
  EXPECT_EQ(one.mean, 5);
  EXPECT_FALSE(one.variance());
  EXPECT_FALSE(mean_interval(one, 0.05));
}

}  // namespace
}  // namespace stab::stats
