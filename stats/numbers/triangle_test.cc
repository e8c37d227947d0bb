// SPDX-License-Identifier: MIT
#include "stats/numbers/triangle.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace stab::stats {
namespace {

// Columns 1, x and (if dependent) 1 + x, for y = 2 + 3 x with errors 1, -2, 1 that no column
// explains.
Triangle line(bool dependent) {
  Triangle triangle(dependent ? 3 : 2, 1e-9);
  constexpr std::array errors{1.0, -2.0, 1.0};
  for (std::size_t i = 0; i < 3; ++i) {
    const double x = static_cast<double>(i);
    std::vector<double> row{1, x};
    if (dependent) row.push_back(1 + x);
    triangle.include(row, 2 + 3 * x + errors[i]);
  }
  triangle.settle();
  return triangle;
}

TEST(Triangle, RecoversALineAndItsResiduals) {
  const Triangle triangle = line(false);
  EXPECT_EQ(triangle.rank(), 2U);
  EXPECT_NEAR(triangle.residual_ss(), 6, 1e-12);
  const auto slope = triangle.dual(std::array{0.0, 1.0});
  ASSERT_TRUE(slope);
  EXPECT_NEAR(triangle.dot(*slope), 3, 1e-12);
}

TEST(Triangle, ADependentColumnTakesNoDegreeOfFreedomAndNoData) {
  const Triangle triangle = line(true);
  EXPECT_EQ(triangle.rank(), 2U);
  EXPECT_TRUE(triangle.is_dependent(2));
  EXPECT_NEAR(triangle.residual_ss(), 6, 1e-12);
  EXPECT_NEAR(triangle.explained(0) + triangle.explained(1), 9 + 9 + 81 - 6, 1e-9);
}

TEST(Triangle, OnlyWhatTheDataDeterminesIsEstimated) {
  const Triangle triangle = line(true);
  EXPECT_FALSE(triangle.dual(std::array{0.0, 1.0, 0.0}));  // the slope of x alone is not known
  const auto value = triangle.dual(std::array{1.0, 5.0, 6.0});
  ASSERT_TRUE(value);
  EXPECT_NEAR(triangle.dot(*value), 17, 1e-12);
}

TEST(Triangle, AnyOrderOfColumnsLeavesTheSameResiduals) {
  const Triangle swapped = line(true).reordered(std::array<std::size_t, 3>{2, 1, 0});
  EXPECT_EQ(swapped.rank(), 2U);
  EXPECT_NEAR(swapped.residual_ss(), 6, 1e-12);
  const Triangle mean_only = line(true).reordered(std::array<std::size_t, 1>{0});
  EXPECT_NEAR(mean_only.residual_ss(), 9 + 9 + 81 - 15.0 * 15 / 3, 1e-12);
}

}  // namespace
}  // namespace stab::stats
