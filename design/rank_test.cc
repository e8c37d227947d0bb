// SPDX-License-Identifier: MIT
#include "design/rank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"

namespace stab::plan {
namespace {

using testing::ElementsAre;
using Cells = std::vector<std::vector<std::size_t>>;

Cells full(const std::vector<std::size_t>& levels) {
  Cells cells{{}};
  for (const std::size_t count : levels) {
    Cells longer;
    for (const auto& cell : cells)
      for (std::size_t level = 0; level < count; ++level) {
        longer.push_back(cell);
        longer.back().push_back(level);
      }
    cells = longer;
  }
  return cells;
}

TEST(Rank, AFullFactorialHasTheProducts) {
  const SequentialDf found = sequential_df(full({3, 2, 4}), {1, 2, 4, 3, 5, 6, 7});
  EXPECT_THAT(found.df, ElementsAre(2, 1, 3, 2, 6, 3, 6));
  EXPECT_EQ(found.rest, 0);
}

// Two factors without a common cell: a main effect is lost for each further component of the cell
// graph.
TEST(Rank, DisconnectedCellsLoseADegree) {
  const Cells cells{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 2}, {2, 3}, {3, 2}, {3, 3}};
  EXPECT_THAT(sequential_df(cells, {1, 2, 3}).df, ElementsAre(3, 2, 2));
}

// A 3 x 3 Latin square: three factors in nine cells.
TEST(Rank, ALatinSquareLeavesTwoForTheInteractions) {
  const Cells cells{{0, 0, 0}, {0, 1, 1}, {0, 2, 2}, {1, 0, 1}, {1, 1, 2},
                    {1, 2, 0}, {2, 0, 2}, {2, 1, 0}, {2, 2, 1}};
  EXPECT_THAT(sequential_df(cells, {1, 2, 4, 3, 5, 6, 7}).df, ElementsAre(2, 2, 2, 2, 0, 0, 0));
}

// A half fraction of 2^3: each main effect is an interaction of the other two.
TEST(Rank, AHalfFractionHasMainEffectsOnly) {
  const Cells cells{{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}};
  EXPECT_THAT(sequential_df(cells, {1, 2, 4, 3, 5, 6, 7}).df, ElementsAre(1, 1, 1, 0, 0, 0, 0));
}

TEST(Rank, TheDegreesOfFreedomNeverExceedTheCells) {
  Random random(3);
  Cells cells = full({4, 5, 3, 3});
  random.shuffle(std::span(cells));
  cells.resize(60);
  std::vector<std::uint32_t> terms(15);
  std::iota(terms.begin(), terms.end(), 1U);
  const SequentialDf found = sequential_df(cells, terms);
  EXPECT_EQ(std::accumulate(found.df.begin(), found.df.end(), found.rest), 59);
}

// A thousand cells in which ten factors copy each other in pairs: bounded work, nothing lost.
TEST(Rank, WhatWouldTakeTooLongIsLumpedTogether) {
#if __has_feature(address_sanitizer)
  constexpr int factors = 13;
#else
  constexpr int factors = 16;
#endif
  Random random(4);
  Cells cells;
  for (std::size_t i = 0; i < 1000; ++i) {
    std::vector<std::size_t> cell;
    for (int factor = 0; factor < factors; ++factor)
      cell.push_back(factor == 0 ? i / 500 : i >> (factor % 10) & 1);
    cells.push_back(cell);
  }
  std::vector<std::uint32_t> terms((1U << factors) - 1);
  std::iota(terms.begin(), terms.end(), 1U);
  const SequentialDf found = sequential_df(cells, terms);
  EXPECT_EQ(std::accumulate(found.df.begin(), found.df.end(), found.rest), 999);
}

}  // namespace
}  // namespace stab::plan
