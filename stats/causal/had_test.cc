// SPDX-License-Identifier: MIT
#include "stats/causal/had.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "base/random.h"

namespace stab::stats::causal {
namespace {

constexpr double alpha = 0.05;

causal::Run run_of(std::size_t load, std::size_t block, double rate) {
  constexpr std::uint64_t second = 1'000'000'000;
  return {.load = load,
          .block = block,
          .experiments = {{.effective_ns = second,
                           .arrivals = static_cast<std::uint64_t>(std::llround(1e6 * rate))}}};
}

double normal(Random& random) {
  constexpr std::uint64_t steps = 1U << 30;
  const double u = (static_cast<double>(random.below(steps)) + 1) / steps;
  const double v = static_cast<double>(random.below(steps)) / steps;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

TEST(Had, IsTheRatioOfMeansAndTheBaseIsOne) {
  Profile profile{.loads = {{}, {}}};
  for (const std::size_t block : {0U, 1U, 2U}) {
    profile.runs.push_back(run_of(0, block, 1 + 0.1 * static_cast<double>(block)));
    profile.runs.push_back(run_of(1, block, 1.5 + 0.1 * static_cast<double>(block)));
  }
  const auto had = had_by(profile, 1, 0, alpha);
  ASSERT_TRUE(had && had->interval);
  EXPECT_NEAR(had->value, 1.6 / 1.1, 1e-6);
  // By R, the influences of the outer blocks are -+ 0.1 (1 / 1.6 - 1 / 1.1) / 3: two of them, times 3 / 2.
  const double error = 1.6 / 1.1 * 0.1 * (1 / 1.1 - 1 / 1.6) / std::sqrt(3.0);
  EXPECT_NEAR(had->interval->high - had->value, 4.302653 * error, 1e-6);
  const auto base = had_by(profile, 0, 0, alpha);
  ASSERT_TRUE(base && base->interval);
  EXPECT_EQ(base->value, 1);
  EXPECT_EQ(base->interval->low, 1);
  EXPECT_EQ(base->interval->high, 1);
}

TEST(Had, OneBlockHasNoIntervalAndNoRunNoValue) {
  Profile profile{.runs = {run_of(0, 0, 1), run_of(1, 0, 2)}, .loads = {{}, {}, {}}};
  ASSERT_TRUE(had_by(profile, 1, 0, alpha));
  EXPECT_NEAR(had_by(profile, 1, 0, alpha)->value, 2, 1e-6);
  EXPECT_FALSE(had_by(profile, 1, 0, alpha)->interval);
  EXPECT_FALSE(had_by(profile, 2, 0, alpha));
  EXPECT_FALSE(had_by(profile, 0, 2, alpha));
}

struct Truth {
  double block_sd = 0.1;         // of what a block does to all of its runs
  double interaction_sd = 0.03;  // of what it does to those at one load
  double run_sd = 0.01;
  unsigned missing = 0;  // of 100 runs
};

// How many of 500 intervals have the true load in them.
int covered(const Truth& truth, std::size_t blocks) {
  constexpr double load = 1.5;
  int count = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    Random random(derive(7, "had", {i, blocks}));
    Profile profile{.loads = {{}, {}}};
    for (std::size_t block = 0; block < blocks; ++block) {
      const double here = 1 + truth.block_sd * normal(random);
      for (const std::size_t at : {0U, 1U}) {
        const double rate = (at == 0 ? 1 : load) * here *
                            (1 + truth.interaction_sd * normal(random)) *
                            (1 + truth.run_sd * normal(random));
        if (random.below(100) >= truth.missing) profile.runs.push_back(run_of(at, block, rate));
      }
    }
    const auto had = had_by(profile, 1, 0, alpha);
    if (had && had->interval && had->interval->low <= load && load <= had->interval->high) ++count;
  }
  return count;
}

// Of 95 % intervals. The error of so many is 1 %.
TEST(Had, IntervalsCoverTheTrueLoad) {
  for (const Truth& truth : {Truth{}, Truth{.missing = 10}, Truth{.block_sd = 0},
                             Truth{.block_sd = 0.2, .interaction_sd = 0}})
    for (const std::size_t blocks : {5U, 10U, 30U}) {
      const int count = covered(truth, blocks);
      EXPECT_GE(count, 450) << truth.block_sd << ' ' << truth.missing << ' ' << blocks;
      EXPECT_LE(count, 495) << truth.block_sd << ' ' << truth.missing << ' ' << blocks;
    }
}

}  // namespace
}  // namespace stab::stats::causal
