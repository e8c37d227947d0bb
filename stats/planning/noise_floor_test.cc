// SPDX-License-Identifier: MIT
#include "stats/planning/noise_floor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "stats/oracle/data.h"

namespace stab::stats {
namespace {

// Programs whose groups scatter by `sd` each.
std::vector<AaProgram> machine(oracle::Normal& normal, const std::vector<double>& sds,
                               std::size_t groups) {
  std::vector<AaProgram> programs;
  for (const double sd : sds) programs.push_back({normal.sample(groups, 20, sd)});
  return programs;
}

TEST(NoiseFloor, OfDisjointPairsIsAnOrderStatistic) {
  AaProgram program;
  for (int i = 1; i <= 19; ++i) {  // differences of 0.001 to 0.019
    program.groups.push_back(5);
    program.groups.push_back(5 + 0.001 * (i % 2 == 0 ? i : -i));
  }
  program.groups.push_back(100);  // half a pair
  const auto floor = noise_floor_disjoint(std::vector{program}, 0.05);
  ASSERT_TRUE(floor);
  EXPECT_EQ(floor->comparisons, 19U);
  EXPECT_NEAR(floor->margin, std::expm1(0.019), 1e-12);  // the largest: ceil(0.95 * 20)
  const auto half = noise_floor_disjoint(std::vector{program}, 0.5);
  ASSERT_TRUE(half);
  EXPECT_NEAR(half->margin, std::expm1(0.010), 1e-12);
}

TEST(NoiseFloor, PairsNeverCrossPrograms) {
  const std::vector<AaProgram> programs(19, AaProgram{{1, 1.01, 7}});
  const auto floor = noise_floor_disjoint(programs, 0.05);
  ASSERT_TRUE(floor);
  EXPECT_EQ(floor->comparisons, 19U);
  EXPECT_NEAR(floor->margin, std::expm1(0.01), 1e-12);
}

// 4000 calibrations, each with one new comparison: it stays within the margin as often as said.
TEST(NoiseFloor, ANewComparisonStaysWithin) {
  oracle::Normal normal(17);
  int within = 0;
  for (int i = 0; i < 4000; ++i) {
    const auto floor = noise_floor_disjoint(machine(normal, {0.01}, 60), 0.1);
    ASSERT_TRUE(floor);
    const double next = 0.01 * (normal.next() - normal.next());
    if (std::abs(next) <= std::log1p(floor->margin)) ++within;
  }
  EXPECT_GT(within / 4000.0, 0.9 - 0.015);
  EXPECT_LT(within / 4000.0, 0.9 + 1.0 / 31 + 0.015);  // what m = 30 pairs can resolve
}

TEST(NoiseFloor, OfProgramsIsTheQuantileOfTheirNoise) {
  oracle::Normal normal(3);
  const std::vector<double> sds(40, 0.01);
  const auto floor = noise_floor_clustered(machine(normal, sds, 40), 0.05, 1);
  ASSERT_TRUE(floor);
  EXPECT_EQ(floor->programs, 40U);
  EXPECT_EQ(floor->comparisons, 40U * 780U);
  EXPECT_NEAR(floor->margin, std::expm1(1.96 * 0.01 * std::sqrt(2)), 0.002);
  EXPECT_LT(floor->interval->low, floor->margin);
  EXPECT_GT(floor->interval->high, floor->margin);
}

// Programs differ in noise, and pairs share groups: an interval that took the 28 pairs of each of
// 12 programs for 336 independent ones would hold the truth far less often.
TEST(NoiseFloor, TheIntervalKnowsThatPairsDependOnEachOther) {
  oracle::Normal normal(29);
  const std::vector<double> kinds{0.003, 0.006, 0.009, 0.012, 0.015};
  const auto draw = [&](std::size_t programs) {
    std::vector<double> sds;
    for (std::size_t i = 0; i < programs; ++i)
      sds.push_back(kinds[static_cast<std::size_t>(normal.uniform() * 5)]);
    return machine(normal, sds, 8);
  };
  const auto truth = noise_floor_clustered(draw(4000), 0.2, 1, Pairs::all, 200);
  ASSERT_TRUE(truth);
  int holds = 0;
  int holds_if_independent = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto programs = draw(12);
    const auto floor = noise_floor_clustered(programs, 0.2, i, Pairs::all, 400);
    ASSERT_TRUE(floor);
    const auto has = [&](const Interval& interval) {
      return interval.low <= truth->margin && truth->margin <= interval.high ? 1 : 0;
    };
    holds += has(*floor->interval);
    // The same bootstrap on pairs that pretend to be programs of their own.
    std::vector<AaProgram> pairs;
    for (const AaProgram& program : programs)
      for (std::size_t a = 0; a < 8; ++a)
        for (std::size_t b = a + 1; b < 8; ++b) {
          const double x = program.groups[a];
          const double y = program.groups[b];
          pairs.push_back({{x, x, y, y}});
        }
    const auto naive = noise_floor_clustered(pairs, 0.2 * 4 / 6, i, Pairs::all, 400);
    ASSERT_TRUE(naive);
    const double spread = naive->interval->high - naive->interval->low;
    holds_if_independent += has({floor->margin - spread / 2, floor->margin + spread / 2});
  }
  EXPECT_GT(holds / 300.0, 0.7);  // 80 %, less what twelve programs cost a percentile bootstrap
  EXPECT_LT(holds_if_independent, holds - 30);
}

// Groups of one pair were run together; between pairs the machine has changed.
TEST(NoiseFloor, DisjointPairsLeaveOutWhatChangesBetweenThem) {
  oracle::Normal normal(8);
  std::vector<AaProgram> programs(20);
  for (AaProgram& program : programs)
    for (int pair = 0; pair < 10; ++pair) {
      const double then = 0.5 * normal.next();
      program.groups.push_back(then + 0.01 * normal.next());
      program.groups.push_back(then + 0.01 * normal.next());
    }
  const auto floor = noise_floor_clustered(programs, 0.05, 1, Pairs::disjoint);
  ASSERT_TRUE(floor);
  EXPECT_EQ(floor->comparisons, 200U);
  EXPECT_NEAR(floor->margin, std::expm1(1.96 * 0.01 * std::sqrt(2)), 0.006);
  EXPECT_GT(noise_floor_clustered(programs, 0.05, 1)->margin, 0.5);
}

TEST(NoiseFloor, TheSeedDecides) {
  oracle::Normal normal(4);
  const auto programs = machine(normal, std::vector<double>(6, 0.01), 6);
  const auto one = noise_floor_clustered(programs, 0.05, 1);
  const auto same = noise_floor_clustered(programs, 0.05, 1);
  ASSERT_TRUE(one && same);
  EXPECT_EQ(one->interval->high, same->interval->high);
}

TEST(NoiseFloor, WhatCannotBeToldSaysWhy) {
  const AaProgram program{std::vector<double>(36, 1.0)};
  EXPECT_EQ(noise_floor_disjoint(std::vector{program}, 0.05).error().message,
            "a noise floor at a confidence of 95 % needs 19 disjoint pairs, but there are only 18");
  EXPECT_FALSE(noise_floor_disjoint({}, 0.05));
  EXPECT_FALSE(noise_floor_disjoint(std::vector{AaProgram{{1, std::nan("")}}}, 0.05));
  EXPECT_FALSE(noise_floor_disjoint(std::vector{program}, 0));
  EXPECT_FALSE(noise_floor_clustered(std::vector<AaProgram>(4, program), 0.05, 1));
  EXPECT_FALSE(noise_floor_clustered(std::vector<AaProgram>(5, AaProgram{{1, 2, 3}}), 0.05, 1));
  EXPECT_FALSE(noise_floor_clustered(std::vector<AaProgram>(5, program), 0.05, 1, Pairs::all, 10));
}

}  // namespace
}  // namespace stab::stats
