// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/oracle/data.h"
#include "stats/tests/variances.h"

namespace stab::stats {
namespace {

using Numbers = std::vector<double>;
using Rows = std::vector<Numbers>;

enum class Noise { normal, exponential, log_normal, t3, outliers };
constexpr Noise all_noise[] = {Noise::normal, Noise::exponential, Noise::log_normal, Noise::t3,
                               Noise::outliers};

double draw(oracle::Normal& random, Noise noise) {
  const double z = random.next();
  switch (noise) {
    case Noise::normal:
      return z;
    case Noise::exponential:
      return -std::log(random.uniform());
    case Noise::log_normal:
      return std::exp(z);
    case Noise::t3: {
      const double chi[] = {random.next(), random.next(), random.next()};
      return z / std::sqrt((chi[0] * chi[0] + chi[1] * chi[1] + chi[2] * chi[2]) / 3);
    }
    case Noise::outliers:
      return random.uniform() < 0.05 ? 5 * z : z;
  }
  return z;
}

// Rows of one number a cell. Cells of a row share as much noise again if they are in blocks; the
// first cell's numbers are `scale` times as large.
Rows simulate(oracle::Normal& random, Noise noise, std::size_t n, std::size_t cells, bool blocks,
              double scale = 1) {
  Rows rows(n, Numbers(cells));
  for (Numbers& row : rows) {
    const double shared = blocks ? draw(random, noise) : 0;
    for (double& x : row) x = shared + draw(random, noise);
    row[0] *= scale;
  }
  return rows;
}

Rows transposed(const Rows& rows) {
  Rows cells(rows.front().size());
  for (const Numbers& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) cells[i].push_back(row[i]);
  return cells;
}

std::optional<Spread> between_cells(const Rows& cells, const Numbers& weights) {
  std::vector<std::optional<CellSpread>> known;
  for (const Numbers& numbers : cells) known.push_back(cell_spread(numbers));
  return spread_between_cells(known, weights, 0.05);
}

std::optional<Spread> spread(const Rows& rows, const Numbers& weights, bool blocks) {
  return blocks ? spread_within_blocks(transposed(rows), weights, 0.05)
                : between_cells(transposed(rows), weights);
}

bool excludes(const Spread& spread, double ratio) {
  return spread.low > ratio || spread.high < ratio;
}

// 30 lines of 2000 experiments. 156 rejections or more in any line have a probability of 1 % if the
// level is 6 % in all of them.
TEST(Spread, EqualVariancesAreRejectedAsOftenAsAgreed) {
  struct Line {
    std::size_t n;
    Numbers weights;
  };
  const Line lines[] = {
      {6, {-1, 1}}, {30, {-1, 1}}, {30, {-.25, -.25, -.25, -.25, .25, .25, .25, .25}}};
  oracle::Normal random(1);
  for (const bool blocks : {false, true})
    for (const Noise noise : all_noise)
      for (const Line& line : lines) {
        int rejected = 0;
        for (int i = 0; i < 2000; ++i) {
          const auto result = spread(simulate(random, noise, line.n, line.weights.size(), blocks),
                                     line.weights, blocks);
          ASSERT_TRUE(result);
          ASSERT_EQ(result->p < 0.05, excludes(*result, 1));
          if (result->p < 0.05) ++rejected;
        }
        EXPECT_LT(rejected, 156) << "blocks " << blocks << ", noise " << static_cast<int>(noise)
                                 << ", n " << line.n << ", cells " << line.weights.size();
      }
}

// A variance that is nine times as large; 20 lines, 118 or more misses of 1500 in any of them as
// above.
TEST(Spread, IntervalsHoldTheRatioOfVariances) {
  oracle::Normal random(2);
  for (const bool blocks : {false, true})
    for (const Noise noise : all_noise)
      for (const std::size_t n : {6, 30}) {
        int missed = 0;
        for (int i = 0; i < 1500; ++i) {
          const auto result = spread(simulate(random, noise, n, 2, blocks, 3), {1, -1}, blocks);
          ASSERT_TRUE(result);
          if (excludes(*result, 9)) ++missed;
        }
        EXPECT_LT(missed, 118) << "blocks " << blocks << ", noise " << static_cast<int>(noise)
                               << ", n " << n;
      }
}

TEST(Spread, AVarianceFourTimesAsLargeIsFoundInThirtyBlocks) {
  oracle::Normal random(3);
  int found = 0;
  for (int i = 0; i < 500; ++i) {
    const auto result = spread(simulate(random, Noise::normal, 30, 2, false, 2), {-1, 1}, true);
    ASSERT_TRUE(result);
    if (result->p < 0.05 && result->high < 1) ++found;
  }
  EXPECT_GT(found, 425);
}

TEST(Spread, OfTwoCellsIsTheRatioOfSquaredMeanDistances) {
  const Rows cells{{1, 2, 3, 5, 6, 7}, {10, 30, 50, 70, 90, 110}};  // medians 4 and 60
  const auto result = between_cells(cells, {-1, 1});
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->ratio, 225, 1e-9);  // mean distances 2 and 30
}

TEST(Spread, DoesNotDependOnScaleAndPlace) {
  oracle::Normal random(4);
  const Rows rows = simulate(random, Noise::exponential, 12, 4, true, 2);
  Rows moved = rows;
  for (Numbers& row : moved)
    for (double& x : row) x = 1000 - 8 * x;
  const Numbers interaction{1, -1, -1, 1};
  for (const bool blocks : {false, true}) {
    const auto one = spread(rows, interaction, blocks);
    const auto other = spread(moved, interaction, blocks);
    ASSERT_TRUE(one && other);
    EXPECT_NEAR(one->ratio, other->ratio, 1e-9);
    EXPECT_NEAR(one->high, other->high, 1e-9 * one->high);
    EXPECT_NEAR(one->p, other->p, 1e-9);
  }
}

TEST(Spread, ExchangedSidesGiveTheInverse) {
  oracle::Normal random(5);
  const Rows rows = simulate(random, Noise::normal, 9, 2, true, 1.5);
  const auto one = spread(rows, {-1, 1}, true);
  const auto other = spread(rows, {1, -1}, true);
  ASSERT_TRUE(one && other);
  EXPECT_NEAR(one->ratio * other->ratio, 1, 1e-12);
  EXPECT_NEAR(one->low * other->high, 1, 1e-12);
  EXPECT_NEAR(one->p, other->p, 1e-12);
}

TEST(Spread, EqualCellsDoNotDiffer) {
  const Rows cells{{1, 2, 3, 5, 6, 9}, {11, 12, 13, 15, 16, 19}};
  const auto result = between_cells(cells, {-1, 1});
  ASSERT_TRUE(result);
  EXPECT_NEAR(result->ratio, 1, 1e-12);
  EXPECT_NEAR(result->p, 1, 1e-9);
  EXPECT_LT(result->low, 0.5);
}

TEST(Spread, CellsWithoutWeightDoNotMatter) {
  const Rows cells{{1, 2, 3, 5, 6, 9}, {}, {1, 3, 5, 9, 11, 17}};
  EXPECT_TRUE(between_cells(cells, {-1, 0, 1}));
}

TEST(Spread, WhatCannotBeToldIsAbsent) {
  const Numbers some{1, 2, 3, 5, 6, 9};
  const Numbers weights{-1, 1};
  const auto between = [&](Numbers a, Numbers b) {
    return between_cells({std::move(a), std::move(b)}, weights);
  };
  EXPECT_FALSE(between(some, {1, 2, 3, 4, 5}));
  EXPECT_FALSE(between(some, {4, 4, 4, 4, 4, 4}));
  EXPECT_FALSE(between(some, {1, 2, 3, 4, 5, std::nan("")}));
  EXPECT_FALSE(spread_between_cells({}, {}, 0.05));
  EXPECT_FALSE(spread_within_blocks({}, weights, 0.05));
  EXPECT_FALSE(spread_within_blocks(Rows{{1, 2, 4, 7, 9}, {2, 5, 1, 4, 3}}, weights, 0.05));
  // Distances that are all alike leave nothing to test with.
  EXPECT_FALSE(between({1, 1, 1, 3, 3, 3}, {1, 1, 1, 5, 5, 5}));
  EXPECT_FALSE(between(some, {1, 2, 3, 5, 6, 1e308}));
}

}  // namespace
}  // namespace stab::stats
