// SPDX-License-Identifier: MIT
#include "client/ab/first_runs.h"

#include <gtest/gtest.h>

#include <chrono>

namespace stab::client::ab {
namespace {

using namespace std::chrono_literals;

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
