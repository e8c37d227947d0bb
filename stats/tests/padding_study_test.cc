// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stats/oracle/expect.h"
#include "stats/oracle/tests_expected.h"
#include "stats/tests/estimate.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

TEST(PaddingStudy, AgreesWithR) {
  std::vector<SeedTrials> seeds(4);
  for (std::size_t i = 0; i < 12; ++i) {
    seeds[i / 3].before.push_back(r::padding_before[i]);
    seeds[i / 3].after.push_back(r::padding_after[i]);
  }
  const auto study = padding_study(seeds, 0.05);
  ASSERT_TRUE(study);
  EXPECT_EQ(study->percent.size(), 4U);
  oracle::expect_near("padding_study",
                      {study->mean, study->interval.low, study->interval.high, study->p},
                      r::padding, 1e-11);
}

// A seed's luck is the same in both arms, and so it cancels.
TEST(PaddingStudy, TheLuckOfALayoutCancels) {
  const auto study = padding_study(
      std::vector<SeedTrials>{
          {{100, 100}, {101, 101}}, {{200, 200}, {202.2, 202.2}}, {{50}, {50.4}}},
      0.05);
  ASSERT_TRUE(study);
  EXPECT_NEAR(study->mean, (1 + 1.1 + 0.8) / 3, 1e-9);
  EXPECT_GT(study->interval.low, 0);
}

TEST(PaddingStudy, WhatCannotBeToldSaysWhy) {
  const double infinity = std::numeric_limits<double>::infinity();
  using Seeds = std::vector<SeedTrials>;
  EXPECT_FALSE(padding_study(Seeds{}, 0.05));
  EXPECT_FALSE(padding_study(Seeds{{{1}, {2}}}, 0.05));
  EXPECT_FALSE(padding_study(Seeds{{{1}, {2}}, {{1}, {}}}, 0.05));
  EXPECT_FALSE(padding_study(Seeds{{{1}, {2}}, {{0}, {1}}}, 0.05));
  EXPECT_FALSE(padding_study(Seeds{{{1}, {2}}, {{1}, {infinity}}}, 0.05));
  EXPECT_FALSE(padding_study(Seeds{{{100}, {101}}, {{100}, {101}}}, 0.05));
}

}  // namespace
}  // namespace stab::stats
