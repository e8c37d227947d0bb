// SPDX-License-Identifier: MIT
#include "stats/numbers/summary.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"

namespace stab::stats {
namespace {

using oracle::expect_close;

// make.R: control
TEST(Summary, MeanSdAndIntervalAgreeWithR) {
  const Dataset data = oracle::plant_growth();
  const auto summary = summarise(std::span(data.response).first(10), 0.05);
  ASSERT_TRUE(summary && summary->interval);
  EXPECT_EQ(summary->n, 10U);
  expect_close(summary->mean, 5.032);
  expect_close(summary->sd, 0.583091378392406);
  expect_close(summary->interval->low, 4.61488155565504);
  expect_close(summary->interval->high, 5.44911844434496);
}

TEST(Summary, TheGeometricMeanOfEqualRatiosIsTheMiddle) {
  const auto summary = summarise_geometric(std::array{1.0, 10.0, 100.0}, 0.05);
  ASSERT_TRUE(summary && summary->interval);
  expect_close(summary->mean, 10);
  expect_close(summary->sd, std::log(10.0));
  // exp(log(10) -+ qt(0.975, 2) * log(10) / sqrt(3)) by R
  expect_close(summary->interval->low, 0.0327991272877566);
  expect_close(summary->interval->high, 3048.86160911143);
}

TEST(Summary, ALargeOffsetCostsNoDigitsOfTheVariance) {
  const auto summary = summarise(std::array{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}, 0.05);
  ASSERT_TRUE(summary);
  expect_close(summary->mean, 1e9 + 10, 1e-15);
  expect_close(summary->sd, std::sqrt(30.0));
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
  EXPECT_FALSE(summarise({}, 0.05));
  EXPECT_FALSE(summarise(std::array{1.0, std::nan("")}, 0.05));
  EXPECT_FALSE(summarise(std::array{1.0, std::numeric_limits<double>::infinity()}, 0.05));
  EXPECT_FALSE(summarise_geometric(std::array{1.0, 0.0}, 0.05));
  const auto one = summarise(std::array{5.0}, 0.05);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->mean, 5);
  EXPECT_FALSE(one->sd);
  EXPECT_FALSE(one->interval);
}

}  // namespace
}  // namespace stab::stats
