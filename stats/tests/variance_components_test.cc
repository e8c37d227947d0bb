// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"
#include "stats/oracle/tests_expected.h"
#include "stats/tests/variances.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

using Cells = std::vector<std::vector<Moments>>;

// 8 layouts of 5 runs, less the lost ones, in so many cells.
Cells layouts(std::size_t cells, std::span<const std::size_t> lost = {}) {
  const std::size_t each = 8 / cells;
  Cells result(cells, std::vector<Moments>(each));
  for (std::size_t i = 0; i < r::layouts.size(); ++i)
    if (std::ranges::find(lost, i + 1) == lost.end())
      result[i / 5 / each][i / 5 % each].add(r::layouts[i]);
  return result;
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
  expect_components(variance_components(layouts(1), 0.05), r::components_balanced);
  expect_components(variance_components(layouts(2), 0.05), r::components_of_two_cells);
}

TEST(VarianceComponents, OfUnequalGroupsAgreeWithR) {
  const std::vector<std::size_t> lost{1, 2, 3, 11, 12, 13, 14, 22, 40};
  expect_components(variance_components(layouts(1, lost), 0.05), r::components_unbalanced);
  expect_components(variance_components(layouts(4, lost), 0.1), r::components_of_four_cells);
}

TEST(VarianceComponents, OfEqualGroupsAreThoseOfTheAnalysisOfVariance) {
  const Cells cells = layouts(1);
  Moments means;
  double within = 0;
  for (const Moments& group : cells[0]) {
    means.add(group.mean);
    within += group.ss / 32;
  }
  const auto one = variance_components(cells, 0.05);
  ASSERT_TRUE(one);
  EXPECT_NEAR(one->between, (5 * *means.variance() - within) / 5, 1e-12);
}

using Sizes = std::vector<std::vector<std::size_t>>;  // runs of each group of each cell

struct Coverage {
  int between = 0;
  int within = 0;
};

constexpr int experiments = 3000;

Coverage coverage(double between, const Sizes& sizes, std::uint64_t seed) {
  oracle::Normal normal(seed);
  Coverage result;
  for (int i = 0; i < experiments; ++i) {
    Cells cells;
    for (const auto& cell : sizes) {
      cells.emplace_back();
      for (const std::size_t size : cell) {
        const double layout =
            static_cast<double>(cells.size()) + std::sqrt(between) * normal.next();
        cells.back().push_back(moments(normal.sample(size, layout)));
      }
    }
    const auto components = variance_components(cells, 0.05);
    if (!components) continue;
    const auto holds = [](const Interval& interval, double truth) {
      return interval.low <= truth && truth <= interval.high;
    };
    if (holds(components->between_interval, between)) ++result.between;
    if (holds(components->within_interval, 1)) ++result.within;
    EXPECT_TRUE(holds(components->between_interval, components->between));
  }
  return result;
}

// 30 lines of 3000 experiments: 2800 holding or less in any line, or 2896 or more within groups,
// have a probability of 1 % if the coverage is 95 % in all of them.
TEST(VarianceComponents, IntervalsHoldTheTruth) {
  const Sizes designs[] = {
      {std::vector<std::size_t>(10, 4)},
      {{2, 3, 4, 4, 5, 6, 8, 12}},
      {{1, 3, 5, 7, 9}, {2, 4, 6, 8, 10}},
      {{1, 1, 10}, {1, 1, 10}, {1, 1, 10}, {1, 1, 10}},
      {{1, 1, 1, 1, 30}},
      {{2, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}},
  };
  std::uint64_t seed = 100;
  for (const Sizes& sizes : designs)
    for (const double between : {0.0, 0.1, 1.0, 10.0, 1000.0}) {
      const Coverage holds = coverage(between, sizes, ++seed);
      EXPECT_GT(holds.between, 2800) << between;
      EXPECT_GT(holds.within, 2800) << between;
      EXPECT_LT(holds.within, 2896) << between;
    }
}

TEST(VarianceComponents, LayoutsThatDoNotMatterHaveNone) {
  const Cells cells(1, std::vector<Moments>(6, moments(std::vector{1.0, 2.0, 3.0})));
  const auto result = variance_components(cells, 0.05);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->between, 0);
  EXPECT_EQ(result->between_interval.low, 0);
  EXPECT_EQ(result->share, 0);
  EXPECT_NEAR(result->p, 1, 1e-12);
}

TEST(VarianceComponents, WhatCannotBeToldSaysWhy) {
  const auto groups = [](std::vector<std::vector<double>> values) {
    Cells result(1);
    for (const auto& group : values) result[0].push_back(moments(group));
    return result;
  };
  EXPECT_FALSE(variance_components(Cells{}, 0.05));
  EXPECT_FALSE(variance_components(groups({{1, 2, 3}}), 0.05));
  EXPECT_FALSE(variance_components(groups({{1}, {2}, {3}}), 0.05));
  EXPECT_FALSE(variance_components(groups({{1, 1}, {2, 2}}), 0.05));
  EXPECT_FALSE(variance_components(groups({{1, 2}, {}}), 0.05));
  EXPECT_FALSE(variance_components(groups({{1, 2}, {std::nan(""), 2}}), 0.05));
  EXPECT_FALSE(variance_components(groups({{1, 2}, {3, 4}}), 0));
}

}  // namespace
}  // namespace stab::stats
