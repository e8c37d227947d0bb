// SPDX-License-Identifier: MIT
#include "stats/tests/randomization.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "stats/oracle/data.h"

namespace stab::stats {
namespace {

std::vector<double> sample(std::size_t n, double mean, std::uint64_t seed) {
  return oracle::Normal(seed).sample(n, mean);
}

double mean_of_all(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double x : numbers) sum += x;
  return sum / static_cast<double>(numbers.size());
}

// By hand: 1, 2, 3 and -0.5 sum to 5.5; so far from 0 are only the arrangement itself, the one that
// turns -0.5 to 0.5, and their opposites.
TEST(Signs, AllArrangementsAreCounted) {
  const std::vector<double> numbers{1, 2, 3, -0.5};
  const auto test = test_signs(numbers, {.margin = Interval{.low = -2, .high = 2}});
  ASSERT_TRUE(test);
  EXPECT_TRUE(test->all);
  EXPECT_TRUE(test->settled);
  EXPECT_EQ(test->draws, 16U);
  EXPECT_DOUBLE_EQ(test->differs.p, 4.0 / 16);
  EXPECT_DOUBLE_EQ(test->least, 2.0 / 16);
  EXPECT_FALSE(test->interval);  // 95 % takes six numbers
  ASSERT_TRUE(test->same);
  // Less 2 the numbers are -1, 0, 1, -2.5: 5 of 16 arrangements have a sum of -2.5 or less.
  std::size_t below = 0;
  for (unsigned mask = 0; mask < 16; ++mask) {
    const double shifted[] = {-1, 0, 1, -2.5};
    double sum = 0;
    for (unsigned i = 0; i < 4; ++i) sum += (mask >> i & 1) != 0 ? -shifted[i] : shifted[i];
    below += sum <= -2.5 ? 1 : 0;
  }
  EXPECT_DOUBLE_EQ(test->same->p, static_cast<double>(below) / 16);
}

TEST(Signs, DrawsAgreeWithAllArrangements) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<double> numbers = sample(14, 0.5, seed);
    const auto counted = test_signs(numbers, {});
    ASSERT_TRUE(counted && counted->all);
    // A pair of zeros changes no sum, and too many numbers remain to count.
    std::vector<double> more = numbers;
    more.insert(more.end(), {0.0, 0.0});
    const auto drawn = test_signs(more, {.seed = seed, .limits = {0.05}});
    ASSERT_TRUE(drawn && !drawn->all);
    EXPECT_LE(drawn->differs.low, counted->differs.p);
    EXPECT_GE(drawn->differs.high, counted->differs.p);
    EXPECT_NEAR(drawn->differs.p, counted->differs.p, 0.03);
    ASSERT_TRUE(drawn->interval && counted->interval);
  }
}

TEST(Signs, TheIntervalIsWhereTheTestDoesNotReject) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::vector<double> numbers = sample(12, 1, seed);
    const auto test = test_signs(numbers, {});
    ASSERT_TRUE(test && test->interval);
    for (const double outside : {test->interval->low - 1e-6, test->interval->high + 1e-6}) {
      std::vector<double> shifted = numbers;
      for (double& x : shifted) x -= outside;
      EXPECT_LE(test_signs(shifted, {})->differs.p, 0.0505);
    }
    for (const double inside : {test->interval->low + 1e-6, test->interval->high - 1e-6}) {
      std::vector<double> shifted = numbers;
      for (double& x : shifted) x -= inside;
      EXPECT_GT(test_signs(shifted, {})->differs.p, 0.0495);
    }
  }
}

// Near a limit draws go on, until the p of all arrangements is surely on one side of it.
TEST(Signs, ChanceDoesNotDecide) {
  std::size_t more = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const std::vector<double> numbers = sample(30, 0.37, seed);
    const auto one = test_signs(numbers, {.seed = 2 * seed, .limits = {0.05}});
    const auto other = test_signs(numbers, {.seed = 2 * seed + 1, .limits = {0.05}});
    ASSERT_TRUE(one && other);
    more += one->draws > 9'999 ? 1 : 0;
    if (one->settled && other->settled)
      EXPECT_EQ(one->differs.high < 0.05, other->differs.high < 0.05);
  }
  EXPECT_GE(more, 3U);
}

TEST(Signs, TheSameSeedGivesTheSameDraws) {
  const std::vector<double> numbers = sample(40, 0.3, 7);
  const auto one = test_signs(numbers, {.seed = 3});
  const auto again = test_signs(numbers, {.seed = 3});
  const auto other = test_signs(numbers, {.seed = 4});
  EXPECT_EQ(one->differs.p, again->differs.p);
  EXPECT_EQ(one->interval->low, again->interval->low);
  EXPECT_NE(one->interval->low, other->interval->low);
}

// Exact for a symmetric hypothesis, whatever the tails: of 2000 experiments at most 5 % and chance.
TEST(Signs, KeepsItsLevel) {
  for (const double share : {0.0, 0.2}) {
    std::size_t rejected = 0;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
      std::vector<double> numbers = sample(12, 0, seed);
      for (double& x : numbers) x = x * x * x;
      rejected += test_signs(numbers, {.share = share})->differs.p < 0.05 ? 1 : 0;
    }
    EXPECT_LE(rejected, 75U) << share;
    EXPECT_GE(rejected, 25U) << share;
  }
}

// A few numbers far out take the mean's power, and not that of the trimmed mean.
TEST(Signs, ATypicalRunIsFoundBesideOutliers) {
  std::vector<double> numbers = sample(30, 1.5, 5);
  numbers[3] = -60;
  numbers[17] = 40;
  EXPECT_GT(test_signs(numbers, {})->differs.p, 0.05);
  const auto typical = test_signs(numbers, {.share = 0.2});
  EXPECT_LT(typical->differs.p, 0.002);
  EXPECT_FALSE(typical->interval);
}

TEST(Signs, ManyNumbersAreDealtInRuns) {
  const std::vector<double> numbers = sample(100'000, 0.02, 11);
  const auto test = test_signs(numbers, {.seed = 1});
  ASSERT_TRUE(test && test->interval);
  EXPECT_EQ(test->units, 2048U);
  EXPECT_LT(test->differs.p, 0.001);
  const double half = 1.96 / std::sqrt(100'000.0);
  EXPECT_NEAR(test->interval->high - test->interval->low, 2 * half, 0.2 * half);
}

TEST(Signs, TooFewNumbersHaveNoTest) {
  EXPECT_FALSE(test_signs(std::vector<double>{1}, {}));
  const auto equal = test_signs(std::vector<double>(8, 0.0), {});
  ASSERT_TRUE(equal);
  EXPECT_EQ(equal->differs.p, 1);
}

TEST(Deals, AgreesWithAllArrangements) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::vector<double> base = sample(5, 0, 2 * seed);
    const std::vector<double> level = sample(6, 1, 2 * seed + 1);
    std::vector<double> all = base;
    all.insert(all.end(), level.begin(), level.end());
    const auto statistic = [&](unsigned mask) {
      std::vector<double> one;
      std::vector<double> two;
      for (unsigned i = 0; i < 11; ++i) ((mask >> i & 1) != 0 ? two : one).push_back(all[i]);
      const auto square = [](const std::vector<double>& x) {
        double ss = 0;
        for (const double each : x) ss += (each - mean_of_all(x)) * (each - mean_of_all(x));
        const double n = static_cast<double>(x.size());
        return ss / (n - 1) / n;
      };
      return (mean_of_all(two) - mean_of_all(one)) / std::sqrt(square(one) + square(two));
    };
    const double observed = std::abs(statistic(0b111111'00000));
    std::size_t far = 0;
    std::size_t arrangements = 0;
    for (unsigned mask = 0; mask < 1U << 11; ++mask) {
      if (std::popcount(mask) != 6) continue;
      ++arrangements;
      far += std::abs(statistic(mask)) >= observed - 1e-9 ? 1 : 0;
    }
    const double p = static_cast<double>(far) / static_cast<double>(arrangements);
    const std::vector<Stratum> strata{{.base = base, .level = level}};
    const auto test = test_deals(strata, {.seed = seed, .limits = {0.05}});
    ASSERT_TRUE(test);
    EXPECT_LE(test->differs.low, p);
    EXPECT_GE(test->differs.high, p);
    EXPECT_NEAR(test->least, 2 / static_cast<double>(arrangements), 1e-9);
  }
}

// A level with a tenth of the numbers and five times the spread: a mean alone would reject far too
// often (or too seldom), one by its own error does not.
TEST(Deals, UnequalVariancesDoNotDisturbIt) {
  std::size_t rejected = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::vector<double> level = sample(15, 0, 2 * seed + 1);
    for (double& x : level) x *= 5;
    const std::vector<Stratum> strata{{.base = sample(60, 0, 2 * seed), .level = level}};
    rejected += test_deals(strata, {.seed = seed})->differs.p < 0.05 ? 1 : 0;
  }
  EXPECT_LE(rejected, 30U);
}

TEST(Deals, TheIntervalIsThatOfAShift) {
  const std::vector<Stratum> strata{{.base = sample(20, 0, 1), .level = sample(20, 2, 2)},
                                    {.base = sample(20, 5, 3), .level = sample(20, 7, 4)}};
  const auto test = test_deals(strata, {.seed = 1, .margin = Interval{.low = -4, .high = 4}});
  ASSERT_TRUE(test && test->interval && test->same);
  EXPECT_LT(test->differs.p, 0.001);
  EXPECT_LT(test->same->p, 0.001);
  EXPECT_LT(test->interval->low, 2);
  EXPECT_GT(test->interval->high, 2);
  EXPECT_LT(test->interval->high - test->interval->low, 1.4);
}

TEST(Deals, TooFewNumbersHaveNoTest) {
  EXPECT_FALSE(test_deals(std::vector<Stratum>{{.base = {1, 2}, .level = {3}}}, {}));
  EXPECT_FALSE(test_deals(std::vector<Stratum>{{.base = {1, 1}, .level = {1, 1}}}, {}));
  EXPECT_FALSE(test_deals({}, {}));
}

}  // namespace
}  // namespace stab::stats
