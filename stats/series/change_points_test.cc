// SPDX-License-Identifier: MIT
#include "stats/series/change_points.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace stab::stats {
namespace {

// The Nile's annual flow at Aswan, 1871 to 1970, in 10^8 m^3 (Cobb: The problem of the Nile, Biometrika
// 1978; the data set Nile of R). Cobb's change is behind 1898.
const std::vector<double> nile{
    1120, 1160, 963, 1210, 1160, 1160, 813,  1230, 1370, 1140, 995,  935,  1110, 994,  1020,
    960,  1180, 799, 958,  1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774,  840,
    874,  694,  940, 833,  701,  916,  692,  1020, 1050, 969,  831,  726,  456,  824,  702,
    1120, 1100, 832, 764,  821,  768,  845,  864,  862,  698,  845,  744,  796,  1040, 759,
    781,  865,  845, 944,  984,  897,  822,  1010, 771,  676,  649,  846,  812,  742,  801,
    1040, 860,  874, 848,  890,  744,  749,  838,  1050, 918,  986,  797,  923,  975,  815,
    1020, 906,  901, 1170, 912,  746,  919,  718,  714,  740};

double normal(Random& random) {
  const auto uniform = [&] { return (static_cast<double>(random.next() >> 11) + 0.5) * 0x1p-53; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

TEST(ChangePoints, FindsCobbsChangeOfTheNile) {
  double sum = 0;
  for (const double flow : nile) sum += flow;
  ASSERT_EQ(nile.size(), 100U);
  ASSERT_EQ(sum, 91935) << "the data is not as published";
  for (const std::uint64_t seed : {1, 2, 3}) {
    const ChangePoints result = change_points(nile, {.seed = seed});
    ASSERT_EQ(result.found.size(), 1U);
    EXPECT_EQ(1871 + result.found[0].at, 1899U) << "the first year of the lower flow";
    EXPECT_DOUBLE_EQ(result.found[0].p, 0.001);
    ASSERT_TRUE(result.p_of_next);
    EXPECT_GT(*result.p_of_next, 0.05);
  }
}

// By hand: the cut of 0, 0, 3, 3 in its middle. All distances between the sides are 3, within 0.
TEST(ChangePoints, HasTheEnergyStatistic) {
  const std::vector<double> step{0, 0, 3, 3};
  const ChangePoints result = change_points(step, {.alpha = 1});
  ASSERT_EQ(result.found.size(), 1U);
  EXPECT_EQ(result.found[0].at, 2U);
  EXPECT_DOUBLE_EQ(result.found[0].statistic, 2 * 2 / 4.0 * 2 * 3);
  // 2 of 6 arrangements are as good.
  EXPECT_NEAR(result.found[0].p, 1.0 / 3, 0.06);
  EXPECT_DOUBLE_EQ(least_p(4), 1.0 / 3);
}

struct ByHand {
  double energy = -1;
  std::size_t at = 0;
};

// Counted in full: over all pairs, cuts and ends.
ByHand best_by_hand(const std::vector<double>& series) {
  ByHand best;
  for (std::size_t at = 2; at + 2 <= series.size(); ++at)
    for (std::size_t end = at + 2; end <= series.size(); ++end) {
      const auto mean = [&](std::size_t from, std::size_t to, std::size_t from2, std::size_t to2) {
        double sum = 0;
        int pairs = 0;
        for (std::size_t i = from; i < to; ++i)
          for (std::size_t j = from2; j < to2; ++j)
            if (i != j) sum += std::abs(series[i] - series[j]), ++pairs;
        return sum / pairs;
      };
      const auto m = static_cast<double>(at);
      const auto n = static_cast<double>(end - at);
      const double energy =
          m * n / (m + n) *
          (2 * mean(0, at, at, end) - mean(0, at, 0, at) - mean(at, end, at, end));
      if (energy > best.energy) best = {.energy = energy, .at = at};
    }
  return best;
}

TEST(ChangePoints, FindsTheBestCutOfAll) {
  Random random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<double> series;
    for (int i = 0; i < 9; ++i) series.push_back(normal(random));
    const ByHand best = best_by_hand(series);
    const ChangePoints result =
        change_points(series, {.alpha = 1, .permutations = 1, .shortest = 4});
    const ChangePoints all = change_points(series, {.alpha = 1, .permutations = 1});
    EXPECT_LE(result.found.size(), 1U);
    const auto is_best = [&](const ChangePoint& each) {
      return each.at == best.at && std::abs(each.statistic - best.energy) < 1e-12;
    };
    EXPECT_EQ(std::ranges::count_if(all.found, is_best), 1) << round;
  }
}

// Of all permutations, so that chance has no part in it.
double p_by_hand(const std::vector<double>& series) {
  const double threshold = best_by_hand(series).energy * (1 - 1e-9);
  std::vector<std::size_t> order(series.size());
  std::iota(order.begin(), order.end(), 0);
  double all = 0;
  double as_large = 0;
  do {
    std::vector<double> permuted;
    for (const std::size_t i : order) permuted.push_back(series[i]);
    ++all;
    as_large += best_by_hand(permuted).energy >= threshold ? 1 : 0;
  } while (std::ranges::next_permutation(order).found);
  return as_large / all;
}

TEST(ChangePoints, TheLeastPIsReachedAndNoSeriesIsBelowIt) {
  EXPECT_NEAR(p_by_hand({0, 0, 10, 10, 5}), least_p(5), 1e-12);
  EXPECT_NEAR(p_by_hand({0, 0, 10, 10, 5, 5}), least_p(6), 1e-12);
  EXPECT_NEAR(p_by_hand({0, 0, 0, 10, 10, 5, 5}), least_p(7), 1e-12);
  EXPECT_GT(least_p(5), 0.05);
  EXPECT_NEAR(least_p(6), 0.0222, 0.0001);
  EXPECT_NEAR(least_p(7), 0.0095, 0.0001);
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> series;
    for (int i = 0; i < 4 + round % 3; ++i)
      series.push_back(static_cast<double>(random.next() % 4));
    EXPECT_GE(p_by_hand(series), least_p(series.size()) * (1 - 1e-9)) << round;
  }
  for (std::size_t n = 4; n < 40; ++n) EXPECT_LT(least_p(n + 1), least_p(n));
}

// The decision is that of all permutations, in a fraction of the time.
TEST(ChangePoints, ATestEndsWhenItIsDecided) {
  Random random(13);
  std::vector<double> series;
  for (int i = 0; i < 12; ++i) series.push_back(normal(random));
  const ChangePoints none =
      change_points(series, {.alpha = 1e-9, .permutations = 1'000'000'000'000});
  EXPECT_TRUE(none.found.empty());
  EXPECT_GT(none.p_of_next.value_or(0), 1e-9);
  for (int i = 6; i < 12; ++i) series[i] += 100;
  // As good are 2 of 924 arrangements.
  const ChangePoints rare = change_points(series, {.alpha = 0.003, .permutations = 19'999});
  ASSERT_EQ(rare.found.size(), 1U);
  EXPECT_NEAR(rare.found[0].p, 2.0 / 924, 0.001);
}

TEST(ChangePoints, FindsSeveralAndNamesThemInOrder) {
  Random random(7);
  std::vector<double> series;
  for (int i = 0; i < 60; ++i) series.push_back((i < 20 ? 0 : i < 45 ? 5 : 2) + normal(random) / 2);
  const ChangePoints result = change_points(series, {});
  ASSERT_EQ(result.found.size(), 2U);
  EXPECT_EQ(result.found[0].at, 20U);
  EXPECT_EQ(result.found[1].at, 45U);
}

TEST(ChangePoints, AreAsRareAsAlphaSaysWhereNothingChanges) {
  Random random(11);
  constexpr int rounds = 1000;
  int wrong = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> series;
    // Normal numbers, and some with heavy tails.
    for (int i = 0; i < 20; ++i) {
      const double x = normal(random);
      series.push_back(round % 2 == 0 ? x : x * x * x);
    }
    wrong +=
        change_points(series, {.permutations = 99, .seed = random.next()}).found.empty() ? 0 : 1;
  }
  // 5 % and four standard deviations.
  EXPECT_LE(wrong, 50 + 4 * 7);
  EXPECT_GE(wrong, 50 - 4 * 7) << "a test that finds too little";
}

TEST(ChangePoints, ShortAndConstantSeriesHaveNone) {
  for (const std::size_t n : {0, 1, 2, 3}) {
    const ChangePoints result = change_points(std::vector<double>(n, 1.5), {});
    EXPECT_TRUE(result.found.empty());
    EXPECT_FALSE(result.p_of_next);
  }
  const ChangePoints constant = change_points(std::vector<double>(30, 1.5), {});
  EXPECT_TRUE(constant.found.empty());
  EXPECT_EQ(constant.p_of_next, 1);
  EXPECT_EQ(least_p(3), 1) << "no cut has two numbers on each side";
}

TEST(ChangePoints, AreTheSameWithTheSameSeed) {
  const ChangePoints first = change_points(nile, {.alpha = 0.9, .permutations = 19, .seed = 3});
  const ChangePoints second = change_points(nile, {.alpha = 0.9, .permutations = 19, .seed = 3});
  ASSERT_EQ(first.found.size(), second.found.size());
  for (std::size_t i = 0; i < first.found.size(); ++i)
    EXPECT_EQ(first.found[i].p, second.found[i].p);
}

}  // namespace
}  // namespace stab::stats
