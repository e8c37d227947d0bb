// SPDX-License-Identifier: MIT
#include "client/ab/first_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

namespace stab::client::ab {
namespace {

using namespace std::chrono_literals;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

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

// Pairs whose ratios of CPU time are these, of a program that takes 100 ms.
Pairs pairs_with(const std::vector<double>& ratios) {
  Pairs pairs = pairs_of(100 * ms, 1, ratios.size(), usual);
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    // Loading takes 0.4 ms in each.
    pairs.with[i].cpu_ns = ratios[i] * (pairs.without[i].cpu_ns + 0.4 * ms);
  }
  return pairs;
}

std::string changed(const Pairs& pairs) {
  return what_changes("a", pairs).clause;
}

TEST(LayerCheck, CountsMayDifferByWhatTheLayerItselfTakes) {
  EXPECT_EQ(changed(pairs_of(100 * ms, 1.02, 8, usual)), "");
  EXPECT_THAT(changed(pairs_of(100 * ms, 1, 8, {.faults = 10'700, .peak = 50e6})),
              HasSubstr("a has 10700 page faults with libstabheap.so, 10000 without"));
  EXPECT_THAT(changed(pairs_of(100 * ms, 1, 8, {.faults = 9'300, .peak = 50e6})),
              HasSubstr("9300 page faults"))
      << "fewer are a change, too";
  EXPECT_THAT(changed(pairs_of(100 * ms, 1, 8, {.faults = 10'000, .peak = 54e6})),
              HasSubstr("54.0 MB of memory with libstabheap.so, 50.0 MB without"));
  EXPECT_EQ(changed(pairs_of(100 * ms, 1, 8, {.faults = 10'000})), "")
      << "a peak that is not known is not compared";
}

TEST(LayerCheck, TimeMayDifferByATenth) {
  EXPECT_EQ(changed(pairs_of(100 * ms, 1.08, 8, usual)), "");
  EXPECT_THAT(changed(pairs_of(100 * ms, 1.15, 8, usual)),
              MatchesRegex("a takes 1.1[3-6] times as much CPU time with libstabheap.so \\(95 % "
                           "interval 1.1[0-9]* to 1.1[0-9]*, 8 pairs of runs\\)"));
  EXPECT_THAT(changed(pairs_of(100 * ms, 0.8, 8, usual)), HasSubstr("a takes 0.79"))
      << "faster is a change, too";
  EXPECT_EQ(changed(pairs_of(1 * ms, 2, 8, usual)), "") << "loading takes that long";
  EXPECT_TRUE(what_changes("a", pairs_of(100 * ms, 1.2, 8, usual)).is_time);
  EXPECT_FALSE(what_changes("a", pairs_of(100 * ms, 1, 8, {.faults = 10'700})).is_time);
}

TEST(LayerCheck, NoiseIsNoChangeOfTime) {
  // The fastest run with the layer takes 0.8 times as long as the fastest one without.
  const std::vector<double> noisy = {0.78, 1.25, 1.02, 0.9, 1.2, 0.95, 1.3, 0.85};
  EXPECT_EQ(changed(pairs_with(noisy)), "");
  std::vector<double> slower;  // by 15 %, which is less than the noise
  for (const double ratio : noisy) slower.push_back(1.15 * ratio);
  EXPECT_EQ(changed(pairs_with(slower)), "");
  // A change that is this large counts although the interval includes "no change" ...
  EXPECT_THAT(changed(pairs_with({0.8, 1.4, 1.5, 2.2})),
              HasSubstr("times as much CPU time with libstabheap.so (95 % interval 0."));
  // ... unless it comes from a single run.
  EXPECT_EQ(changed(pairs_with({1.01, 0.98, 3.5, 1.02})), "");
}

TEST(LayerCheck, FewPairsShowOnlyLargeChangesOfTime) {
  for (const std::size_t pairs : {1U, 2U, 3U}) {
    EXPECT_EQ(changed(pairs_of(100 * ms, 1.2, pairs, usual)), "") << pairs;
    EXPECT_EQ(changed(pairs_of(100 * ms, 0.8, pairs, usual)), "") << pairs;
    EXPECT_NE(changed(pairs_of(100 * ms, 0.7, pairs, usual)), "") << pairs;
  }
  EXPECT_THAT(changed(pairs_of(100 * ms, 1.4, 1, usual)),
              EndsWith("times as much CPU time with libstabheap.so (1 pair of runs)"));
  EXPECT_THAT(changed(pairs_of(100 * ms, 1.4, 3, usual)), EndsWith(" (3 pairs of runs)"));
  EXPECT_EQ(changed({}), "");
  // If all ratios are equal, there is no interval.
  EXPECT_EQ(changed(pairs_with({1.2, 1.2, 1.2, 1.2, 1.2})), "");
  EXPECT_NE(changed(pairs_with({1.3, 1.3, 1.3, 1.3, 1.3})), "");
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
