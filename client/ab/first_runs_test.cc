// SPDX-License-Identifier: MIT
#include "client/ab/first_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

namespace stab::client::ab {
namespace {

using namespace std::chrono_literals;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr double ms = 1e6;

// Pairs whose runs with the layer take so many times what those without take; the times vary by 1 %.
Pairs pairs_of(double cpu, double ratio, std::size_t count = 8, Run with = {}) {
  Pairs pairs;
  for (std::size_t i = 0; i < count; ++i) {
    const double noise = 1 + 0.01 * std::sin(7.0 * static_cast<double>(i));
    pairs.without.push_back({.cpu_ns = cpu * noise, .faults = 10'000, .peak = 50e6});
    with.cpu_ns = cpu * ratio * (1 + 0.01 * std::cos(5.0 * static_cast<double>(i) + 100 * ratio));
    pairs.with.push_back(with);
  }
  return pairs;
}
const Run usual{.faults = 10'050, .peak = 50.5e6};

TEST(LayerCheck, CountsMayDifferByWhatTheLayerItselfTakes) {
  EXPECT_EQ(what_changes("a", pairs_of(100 * ms, 1.02, 8, usual)), "");
  EXPECT_THAT(what_changes("a", pairs_of(100 * ms, 1, 8, {.faults = 10'700, .peak = 50e6})),
              HasSubstr("a has 10700 page faults with libstabheap.so, 10000 without"));
  EXPECT_THAT(what_changes("a", pairs_of(100 * ms, 1, 8, {.faults = 9'300, .peak = 50e6})),
              HasSubstr("9300 page faults"))
      << "fewer are a change, too";
  EXPECT_THAT(what_changes("a", pairs_of(100 * ms, 1, 8, {.faults = 10'000, .peak = 54e6})),
              HasSubstr("54.0 MB of memory with libstabheap.so, 50.0 MB without"));
  EXPECT_EQ(what_changes("a", pairs_of(100 * ms, 1, 8, {.faults = 10'000})), "")
      << "a peak that is not known is not compared";
}

TEST(LayerCheck, TimeMayDifferByATenth) {
  EXPECT_EQ(what_changes("a", pairs_of(100 * ms, 1.08, 8, usual)), "");
  const auto slower = what_changes("a", pairs_of(100 * ms, 1.2, 8, usual));
  EXPECT_THAT(slower, HasSubstr("times as much CPU time"));
  EXPECT_NE(what_changes("a", pairs_of(100 * ms, 0.8, 8, usual)), "");
  EXPECT_EQ(what_changes("a", pairs_of(100 * ms, 1.2, 2, usual)), "") << "two pairs say little";
  EXPECT_NE(what_changes("a", pairs_of(100 * ms, 1.4, 2, usual)), "");
  EXPECT_EQ(what_changes("a", pairs_of(1 * ms, 2, 8, usual)), "") << "loading takes that long";
}

TEST(LayerCheck, WhatCostsOneVersionMoreThanTheOtherWouldBeInTheVerdict) {
  const Pairs cheap = pairs_of(100 * ms, 1.01, 8, usual);
  const Pairs dear = pairs_of(100 * ms, 1.06, 8, usual);
  EXPECT_EQ(what_costs_more("a", cheap, "b", cheap), "");
  EXPECT_THAT(what_costs_more("a", cheap, "b", dear),
              ContainsRegex("libstabheap.so increases the CPU time by [0-9.]+ percentage points "
                            "more in b than in a"));
  EXPECT_THAT(what_costs_more("a", dear, "b", cheap),
              HasSubstr("percentage points less in b than in a"));
  EXPECT_EQ(what_costs_more("a", pairs_of(100 * ms, 1.01, 2), "b", pairs_of(100 * ms, 1.06, 2)),
            "");
  EXPECT_EQ(what_costs_more("a", pairs_of(10 * ms, 1.04), "b", pairs_of(10 * ms, 1.1)), "")
      << "that is less than a millisecond";
  const double loaded = (2 * ms + 0.4 * ms) / (2 * ms);
  EXPECT_EQ(what_costs_more("a", pairs_of(100 * ms, 1.004), "b", pairs_of(2 * ms, loaded)), "")
      << "loading the layer is a larger part of a short program";
}

TEST(LayerCheck, TheCostIsTheMeanOfTheRatiosWithItsInterval) {
  const auto cost = cost_of({pairs_of(100 * ms, 1.05), pairs_of(10 * ms, 1.05)});
  ASSERT_TRUE(cost && cost->low && cost->high);
  EXPECT_NEAR(cost->change, 0.05, 0.01);
  EXPECT_LT(*cost->low, 0.05);
  EXPECT_GT(*cost->high, 0.05);
  EXPECT_EQ(cost->pairs, 16U);
  EXPECT_THAT(said(*cost), EndsWith(" %, 16 pairs of runs"));
  const auto one = cost_of({pairs_of(100 * ms, 1.05, 1)});
  ASSERT_TRUE(one);
  EXPECT_FALSE(one->low);
  EXPECT_THAT(said(*one), EndsWith(" % of CPU time; 1 pair of runs"));
  EXPECT_FALSE(cost_of({pairs_of(100 * ms, 1.05, 3)})->low);
  EXPECT_TRUE(cost_of({pairs_of(100 * ms, 1.05, 4)})->low);
  EXPECT_FALSE(cost_of({}));
}

TEST(FirstRuns, ABudgetIsForTheWarmUpRoundAndForOthers) {
  const Pace pace{.round = 1s, .longest = 300ms};
  EXPECT_EQ(rounds_within(11s, pace), fewest_rounds);
  EXPECT_EQ(rounds_within(10'999ms, pace), fewest_rounds - 1);
  EXPECT_EQ(rounds_within(500ms, pace), 0U);
  Comparison comparison;
  EXPECT_EQ(pace_of_trials(comparison, pace).round, 1s);
  comparison.response = "relative_cpu";
  EXPECT_EQ(pace_of_trials(comparison, pace).round, 2s);
  EXPECT_EQ(pace_of_trials(comparison, pace).longest, 600ms);
}

}  // namespace
}  // namespace stab::client::ab
