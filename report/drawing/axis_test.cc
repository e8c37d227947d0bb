// SPDX-License-Identifier: MIT
#include "report/drawing/axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"

namespace stab::report::html {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Range between(double low, double high) {
  return {.low = low, .high = high, .empty = false};
}

TEST(Ticks, AreRoundNumbersWithinTheRange) {
  EXPECT_THAT(ticks(between(-3, 11), 7).at, ElementsAre(0, 5, 10));
  EXPECT_THAT(ticks(between(0, 10), 7).at, ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(ticks(between(990, 1013), 7).at, ElementsAre(990, 995, 1000, 1005, 1010));
}

TEST(Ticks, ZeroIsExact) {
  const Ticks found = ticks(between(-0.3, 0.3), 7);
  EXPECT_THAT(found.at, ::testing::Contains(0.0));
  EXPECT_EQ(found.label(0.0), "0.0");
  EXPECT_EQ(found.label(-0.0), "0.0");
}

TEST(Ticks, LabelsTellThemApart) {
  const Ticks found = ticks(between(1.2001, 1.2009), 7);
  ASSERT_GE(found.at.size(), 2U);
  for (std::size_t i = 1; i < found.at.size(); ++i)
    EXPECT_NE(found.label(found.at[i - 1]), found.label(found.at[i]));
}

TEST(Ticks, ThereAreTwoOrMoreAndNotTooMany) {
  Random random(5);
  for (int i = 0; i < 20'000; ++i) {
    const double low = (static_cast<double>(random.below(2'000'001)) - 1e6) / 1e3;
    const double wide = std::pow(10, static_cast<double>(random.below(120)) / 10 - 4) + 1e-6;
    const Range range = between(low, low + wide);
    const Ticks found = ticks(range, 7);
    ASSERT_GE(found.at.size(), 2U) << low << " " << wide;
    ASSERT_LE(found.at.size(), 7U) << low << " " << wide;
    for (const double tick : found.at) {
      ASSERT_GE(tick, range.low - 1e-6 * wide);
      ASSERT_LE(tick, range.high + 1e-6 * wide);
    }
  }
}

TEST(Ticks, ARangeWithoutWidthHasNone) {
  EXPECT_THAT(ticks(Range(), 7).at, IsEmpty());
  EXPECT_THAT(ticks(between(5, 5), 7).at, IsEmpty());
  EXPECT_THAT(ticks(between(1e18, 1e18 + 1), 7).at, IsEmpty());
}

TEST(Range, WhatIsNotFiniteChangesNothing) {
  Range range;
  range.include(std::numeric_limits<double>::quiet_NaN());
  range.include(std::numeric_limits<double>::infinity());
  EXPECT_TRUE(range.empty);
  range.include(3);
  range.include(-1);
  EXPECT_THAT(range.low, DoubleEq(-1));
  EXPECT_THAT(range.high, DoubleEq(3));
}

TEST(Range, ASingleNumberHasSomeAroundIt) {
  Range range;
  range.include(4);
  EXPECT_LT(range.padded().low, 4);
  EXPECT_GT(range.padded().high, 4);
  EXPECT_GE(ticks(range.padded(), 7).at.size(), 2U);
  range = {};
  range.include(0);
  EXPECT_LT(range.padded().low, range.padded().high);
}

TEST(Axis, EndsLieAtItsEnds) {
  const Axis axis(between(-2, 8), 300, 100);
  EXPECT_THAT(axis.place(-2), DoubleEq(300));
  EXPECT_THAT(axis.place(8), DoubleEq(100));
  EXPECT_THAT(axis.place(3), DoubleEq(200));
}

TEST(Axis, EqualRatiosAreEquallyFarApart) {
  const Axis axis(between(-75, 300), 300, 100, Spacing::ratios);
  EXPECT_DOUBLE_EQ(axis.place(-75), 300);
  EXPECT_DOUBLE_EQ(axis.place(-50), 250);
  EXPECT_DOUBLE_EQ(axis.place(0), 200);
  EXPECT_DOUBLE_EQ(axis.place(100), 150);
  EXPECT_DOUBLE_EQ(axis.place(300), 100);
}

}  // namespace
}  // namespace stab::report::html
