// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include "stats/variance_components.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/oracle/deviation.h"
#include "stats/oracle/simulate.h"
#include "stats/oracle/tests_expected.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

std::vector<Moments> layouts(std::span<const std::size_t> lost = {}) {
  std::vector<Moments> groups(8);
  for (std::size_t i = 0; i < r::layouts.size(); ++i)
    if (std::ranges::find(lost, i + 1) == lost.end()) groups[i / 5].add(r::layouts[i]);
  return groups;
}

void expect_components(const Result<ComponentIntervals>& result, std::span<const double> expected) {
  ASSERT_TRUE(result) << result.error().message;
  oracle::expect_near(
      "variance_components",
      {result->between, result->between_interval.low, result->between_interval.high, result->within,
       result->within_interval.low, result->within_interval.high, result->p},
      expected, 1e-9);
  EXPECT_DOUBLE_EQ(result->share, result->between / (result->between + result->within));
}

TEST(VarianceComponents, AgreeWithR) {
  expect_components(variance_components(layouts(), 0.05), r::components_balanced);
}

TEST(VarianceComponents, OfUnequalGroupsAgreeWithR) {
  const std::vector<std::size_t> lost{1, 2, 3, 11, 12, 13, 14, 22, 40};
  expect_components(variance_components(layouts(lost), 0.05), r::components_unbalanced);
}

struct Coverage {
  double between = 0;
  double within = 0;
};

Coverage coverage(double between, std::span<const std::size_t> sizes, std::uint64_t seed) {
  oracle::Normal normal(seed);
  Coverage result;
  constexpr int experiments = 3000;
  for (int i = 0; i < experiments; ++i) {
    std::vector<Moments> groups;
    for (const std::size_t size : sizes) {
      const double layout = std::sqrt(between) * normal.next();
      groups.push_back(moments(normal.sample(size, layout)));
    }
    const auto components = variance_components(groups, 0.05);
    if (!components) continue;
    const auto holds = [](const Interval& interval, double truth) {
      return interval.low <= truth && truth <= interval.high;
    };
    result.between += holds(components->between_interval, between) ? 1.0 / experiments : 0;
    result.within += holds(components->within_interval, 1) ? 1.0 / experiments : 0;
  }
  return result;
}

// 3000 experiments each: at least 95 % less three standard errors.
TEST(VarianceComponents, IntervalsHoldTheTruth) {
  const std::vector<std::size_t> balanced(10, 4);
  const std::vector<std::size_t> unequal{2, 3, 4, 4, 5, 6, 8, 12};
  std::uint64_t seed = 100;
  for (const auto& sizes : {balanced, unequal})
    for (const double between : {0.0, 0.1, 1.0, 10.0}) {
      const Coverage holds = coverage(between, sizes, ++seed);
      EXPECT_GT(holds.between, 0.938) << between;
      EXPECT_NEAR(holds.within, 0.95, 0.012) << between;
    }
}

TEST(VarianceComponents, LayoutsThatDoNotMatterHaveNone) {
  const std::vector<Moments> groups(6, moments(std::vector{1.0, 2.0, 3.0}));
  const auto result = variance_components(groups, 0.05);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->between, 0);
  EXPECT_EQ(result->between_interval.low, 0);
  EXPECT_EQ(result->share, 0);
  EXPECT_NEAR(result->p, 1, 1e-12);
}

TEST(VarianceComponents, WhatCannotBeToldSaysWhy) {
  const auto groups = [](std::vector<std::vector<double>> values) {
    std::vector<Moments> result;
    for (const auto& group : values) result.push_back(moments(group));
    return result;
  };
  EXPECT_FALSE(variance_components(groups({{1, 2, 3}}), 0.05));
  EXPECT_FALSE(variance_components(groups({{1}, {2}, {3}}), 0.05));
  EXPECT_FALSE(variance_components(groups({{1, 1}, {2, 2}}), 0.05));
  EXPECT_FALSE(variance_components(groups({{1, 2}, {}}), 0.05));
  EXPECT_FALSE(variance_components(groups({{1, 2}, {std::nan(""), 2}}), 0.05));
  EXPECT_FALSE(variance_components(groups({{1, 2}, {3, 4}}), 0));
  EXPECT_FALSE(variance_components(MeanSquares{}, 0.05));
}

}  // namespace
}  // namespace stab::stats
