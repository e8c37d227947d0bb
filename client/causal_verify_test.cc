// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/random.h"
#include "client/causal.h"

namespace stab::client::causal {
namespace {

using stats::causal::Gain;

TEST(Verify, TheDifferenceHasTheErrorsOfBoth) {
  const Gain apart = difference({.value = 0.1, .interval = {.low = 0.07, .high = 0.13}},
                                {.value = 0.08, .interval = {.low = 0.04, .high = 0.12}});
  EXPECT_NEAR(apart.value, -0.02, 1e-12);
  EXPECT_NEAR(apart.interval.low, -0.07, 1e-12);
  EXPECT_NEAR(apart.interval.high, 0.03, 1e-12);
}

// Uniform on (0, 1].
double uniform(Random& random) {
  return (static_cast<double>(random.next() >> 11) + 1) * 0x1p-53;
}

double normal(Random& random) {
  return std::sqrt(-2 * std::log(uniform(random))) *
         std::cos(2 * std::numbers::pi * uniform(random));
}

// Of changes that give just what was predicted 5 in 100 are said to give something else.
TEST(Verify, ItContradictsATruePredictionAsOftenAsItsIntervalsAreWrong) {
  Random random(1);
  const auto drawn = [&](double sd) {
    const double value = 0.1 + sd * normal(random);
    return Gain{.value = value, .interval = {.low = value - 1.96 * sd, .high = value + 1.96 * sd}};
  };
  constexpr int times = 20'000;
  int contradicted = 0;
  for (int i = 0; i < times; ++i) {
    const stats::Interval apart = difference(drawn(0.02), drawn(0.005)).interval;
    contradicted += apart.low > 0 || apart.high < 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(contradicted) / times, 0.05, 0.006);
}

}  // namespace
}  // namespace stab::client::causal
