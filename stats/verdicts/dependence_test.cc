// SPDX-License-Identifier: MIT
#include "stats/verdicts/dependence.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace stab::stats {
namespace {

// `blocks` of two cells; those before `first` have their mark in cell 0, the next `second` in 1.
std::vector<Marked> pairs(std::uint32_t blocks, std::uint32_t first, std::uint32_t second) {
  std::vector<Marked> trials;
  for (std::uint32_t block = 0; block < blocks; ++block)
    for (std::uint32_t cell = 0; cell < 2; ++cell)
      trials.push_back(
          {.stratum = block,
           .cell = cell,
           .marked = cell == 0 ? block < first : block >= first && block < first + second});
  return trials;
}

// With pairs it is McNemar's test: R has binom.test(8, 10)$p.value = 0.109375, binom.test(10, 10)
// 0.001953125.
TEST(Dependence, OfPairsIsTheBinomialTest) {
  EXPECT_NEAR(*dependence_on_cell(pairs(30, 8, 2), 1).p, 0.109375, 0.012);
  EXPECT_NEAR(*dependence_on_cell(pairs(30, 10, 0), 1).p, 0.001953, 0.002);
  EXPECT_DOUBLE_EQ(*dependence_on_cell(pairs(30, 5, 5), 1).p, 1);
}

// One block of 2 cells with 10 trials each: Fisher's exact test. R: fisher.test(matrix(c(8, 2, 2,
// 8), 2))$p.value = 0.02301.
TEST(Dependence, OfOneBlockIsFishersTest) {
  std::vector<Marked> trials;
  for (std::uint32_t i = 0; i < 20; ++i)
    trials.push_back({.stratum = 0, .cell = i / 10, .marked = i < 8 || i == 18 || i == 19});
  const Dependence found = dependence_on_cell(trials, 1);
  EXPECT_NEAR(*found.p, 0.02301, 0.006);
  EXPECT_EQ(found.marks, 10U);
}

TEST(Dependence, WhatCouldNotBeAnotherCellsSaysNothing) {
  EXPECT_FALSE(dependence_on_cell({}, 1).p);
  EXPECT_FALSE(dependence_on_cell(pairs(10, 0, 0), 1).p);
  // Both trials of a block; and blocks of one cell.
  std::vector<Marked> trials;
  for (std::uint32_t i = 0; i < 10; ++i)
    trials.push_back({.stratum = i / 2, .cell = i % 2, .marked = true});
  EXPECT_FALSE(dependence_on_cell(trials, 1).p);
  trials = {{.stratum = 0, .cell = 0, .marked = true}, {.stratum = 0, .cell = 0}};
  EXPECT_FALSE(dependence_on_cell(trials, 1).p);
}

TEST(Dependence, TheSameTrialsGiveTheSameP) {
  EXPECT_EQ(dependence_on_cell(pairs(30, 7, 2), 5).p, dependence_on_cell(pairs(30, 7, 2), 5).p);
}

// Blocks of four cells; `more` in 1000: how much likelier cell 0 has a mark.
std::vector<Marked> many(Random& random, std::uint32_t blocks, std::uint64_t more) {
  std::vector<Marked> trials;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const std::uint64_t in_thousand = block % 3 == 0 ? 700 : 200;
    for (std::uint32_t cell = 0; cell < 4; ++cell)
      trials.push_back({.stratum = block,
                        .cell = cell,
                        .marked = random.below(1000) < in_thousand + (cell == 0 ? more : 0)});
  }
  return trials;
}

// Dealing would take minutes here, or stop above such an alpha.
TEST(Dependence, ASmallAlphaIsReachedWithTensOfThousandsOfMarks) {
  Random random(5);
  const Dependence even = dependence_on_cell(many(random, 20'000, 0), 1, 0.0001);
  EXPECT_GT(even.marks, 20'000U);
  EXPECT_EQ(even.dealt, 0U);
  EXPECT_GT(*even.p, 0.0001);
  EXPECT_LT(*dependence_on_cell(many(random, 20'000, 40), 1, 0.0001).p, 0.0001);
}

TEST(Dependence, AsManyDealsAsAlphaNeedsAreMade) {
  EXPECT_GE(dependence_on_cell(pairs(30, 10, 0), 1, 0.001).dealt, 19'999U);
  EXPECT_EQ(dependence_on_cell(pairs(30, 10, 0), 1, 0.05).dealt, 9'999U);
  EXPECT_LT(*dependence_on_cell(pairs(60, 30, 0), 1, 0.0001).p, 0.0001);
}

// The bound is not below what deals show, but for their own noise; and it is not far above it.
TEST(Dependence, TheBoundIsAboveThePOfDeals) {
  Random random(9);
  int below = 0;
  int caught = 0;
  for (int i = 0; i < 40; ++i) {
    const std::vector<Marked> trials = many(random, 1000, 0);
    const auto dealt = dependence_on_cell(trials, static_cast<std::uint64_t>(i), 0.05);
    const auto bound = dependence_on_cell(trials, static_cast<std::uint64_t>(i), 0.0001);
    ASSERT_GT(dealt.dealt, 0U);
    ASSERT_EQ(bound.dealt, 0U);
    below += *bound.p < *dealt.p / 2 ? 1 : 0;
    caught += *bound.p <= 0.05 ? 1 : 0;
  }
  EXPECT_LE(below, 2);
  EXPECT_LE(caught, 6);  // 2 on average if it were exact
}

// Bursts hit whole stretches of time; within a block they hit anybody.
TEST(Dependence, BurstsThatHitAnyCellAreRarelyCalledDependent) {
  Random random(3);
  int wrong = 0;
  constexpr int experiments = 400;
  for (int i = 0; i < experiments; ++i) {
    std::vector<Marked> trials;
    for (std::uint32_t block = 0; block < 30; ++block) {
      const std::uint64_t in_ten = block % 10 < 3 ? 6 : 0;
      for (std::uint32_t cell = 0; cell < 4; ++cell)
        trials.push_back({.stratum = block, .cell = cell, .marked = random.below(10) < in_ten});
    }
    const auto p = dependence_on_cell(trials, static_cast<std::uint64_t>(i)).p;
    wrong += p && *p <= 0.05 ? 1 : 0;
  }
  EXPECT_LE(wrong, 36);  // 20 on average; more than 36 in 1 of 3000 such tests
  EXPECT_GE(wrong, 5);
}

}  // namespace
}  // namespace stab::stats
