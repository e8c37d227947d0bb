// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "base/random.h"
#include "stats/causal/arrival_loads.h"

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

// A load that arrivals gain nothing at is the better base, if it has runs.
TEST(Had, IsByTheOneRunWhereNoLoadIsTheBase) {
  Profile profile{.loads = {{.speedup_ns = 0}, {.speedup_ns = 9}}, .base_rate = 0.8e-3};
  for (const std::size_t block : {0U, 1U, 2U})
    profile.runs.push_back(run_of(1, block, 1.5 + 0.1 * static_cast<double>(block)));
  const auto had = had_of(profile, 1, alpha);
  ASSERT_TRUE(had && had->interval);
  EXPECT_NEAR(had->value, 2, 1e-6);
  // The standard deviation of one run is a sixteenth; of three of them, and of the base.
  EXPECT_NEAR(had->interval->high - had->value, 4.302653 * 2 * std::sqrt(4.0 / 3) / 16, 1e-6);
  profile.runs.push_back(run_of(0, 0, 1));
  ASSERT_TRUE(had_of(profile, 1, alpha));
  EXPECT_NEAR(had_of(profile, 1, alpha)->value, 1.6, 1e-6);
  profile.runs.pop_back();
  profile.base_rate = 0;
  EXPECT_FALSE(had_of(profile, 1, alpha)) << "nothing is known of the base";
}

struct Truth {
  double block_sd = 0.1;         // of what a block does to all of its runs
  double interaction_sd = 0.03;  // of what it does to those at one load
  double run_sd = 0.01;
  unsigned missing = 0;  // of 100 runs
};

constexpr double true_load = 1.5;

// The base has runs in each block, or one before all others.
enum class Base { in_blocks, one_run };

class Draws {
 public:
  Draws(const Truth& truth, std::uint64_t seed) : truth_(truth), random_(seed) {}

  double block() { return 1 + truth_.block_sd * normal(random_); }
  double rate(double load, double block) {
    return load * block * (1 + truth_.interaction_sd * normal(random_)) *
           (1 + truth_.run_sd * normal(random_));
  }
  bool is_missing() { return random_.below(100) < truth_.missing; }

 private:
  const Truth& truth_;
  Random random_;
};

Profile profile_of(const Truth& truth, Base base, std::size_t blocks, std::uint64_t seed) {
  Draws draws(truth, seed);
  Profile made{.loads = {{.speedup_ns = 0}, {.speedup_ns = 9}}};
  if (base == Base::one_run) made.base_rate = 1e-3 * draws.rate(1, draws.block());
  for (std::size_t block = 0; block < blocks; ++block) {
    const double here = draws.block();
    for (const std::size_t at : {0U, 1U}) {
      const double rate = draws.rate(at == 0 ? 1 : true_load, here);
      const bool is_there = at == 1 || base == Base::in_blocks;
      if (!draws.is_missing() && is_there) made.runs.push_back(run_of(at, block, rate));
    }
  }
  return made;
}

// How many of 500 intervals have the true load in them.
int covered(const Truth& truth, Base base, std::size_t blocks) {
  int count = 0;
  for (std::uint64_t i = 0; i < 500; ++i) {
    const auto had =
        had_of(profile_of(truth, base, blocks, derive(7, "had", {i, blocks})), 1, alpha);
    if (had && had->interval && had->interval->low <= true_load && true_load <= had->interval->high)
      ++count;
  }
  return count;
}

// Of 95 % intervals. The error of so many is 1 %.
TEST(Had, IntervalsCoverTheTrueLoad) {
  for (const Base base : {Base::in_blocks, Base::one_run})
    for (const Truth& truth : {Truth{}, Truth{.missing = 10}, Truth{.block_sd = 0},
                               Truth{.block_sd = 0.2, .interaction_sd = 0}})
      for (const std::size_t blocks : {5U, 10U, 30U}) {
        const int count = covered(truth, base, blocks);
        const auto what = ::testing::Message()
                          << "base " << static_cast<int>(base) << ", block " << truth.block_sd
                          << ", missing " << truth.missing << ", " << blocks << " blocks";
        EXPECT_GE(count, 460) << what;
        EXPECT_LE(count, 485) << what;
      }
}

}  // namespace
}  // namespace stab::stats::causal
