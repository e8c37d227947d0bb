// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "base/random.h"
#include "client/causal.h"
#include "stats/verdicts/analysis.h"

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

stats::Analysis analysis_of(const stats::Effect& effect, bool higher_is_better) {
  stats::Analysis made;
  made.spec.response = "x";
  made.spec.higher_is_better = higher_is_better;
  made.effects = {effect};
  return made;
}

stats::Effect effect_of(double ratio, double low, double high) {
  stats::Effect made;
  made.treatment = "version";
  made.baseline = "old";
  made.level = "new";
  made.ratio = ratio;
  made.low = low;
  made.high = high;
  return made;
}

TEST(Verify, AHigherThroughputIsAGainAndAHigherTimeALoss) {
  const auto time = measured_in(analysis_of(effect_of(1.25, 1.2, 1.6), false));
  ASSERT_TRUE(time) << time.error().message;
  EXPECT_FALSE(time->is_inverse);
  EXPECT_NEAR(time->gain.value, -0.25, 1e-12);
  EXPECT_NEAR(time->gain.interval.low, -0.6, 1e-12);
  EXPECT_NEAR(time->gain.interval.high, -0.2, 1e-12);
  const auto throughput = measured_in(analysis_of(effect_of(1.25, 1, 1.6), true));
  ASSERT_TRUE(throughput) << throughput.error().message;
  EXPECT_TRUE(throughput->is_inverse);
  EXPECT_NEAR(throughput->gain.value, 0.2, 1e-12);
  EXPECT_NEAR(throughput->gain.interval.low, 0, 1e-12);
  EXPECT_NEAR(throughput->gain.interval.high, 0.375, 1e-12);
  // Raw values may have an interval that includes 0.
  EXPECT_FALSE(measured_in(analysis_of(effect_of(1.25, 0, 1.6), true)));
  EXPECT_TRUE(measured_in(analysis_of(effect_of(1.25, -0.1, 1.6), false)));
}

TEST(Verify, AVerdictWithheldForLostTrialsGivesNoConclusion) {
  stats::Effect effect = effect_of(0.8, 0.7, 0.9);
  effect.reason = "the missing trials may reverse the change";
  EXPECT_TRUE(measured_in(analysis_of(effect, false))) << "no trial is missing";
  stats::Analysis analysis = analysis_of(effect, false);
  analysis.means.push_back({.levels = {"new"}, .lost = 1});
  const auto withheld = measured_in(analysis);
  ASSERT_FALSE(withheld);
  EXPECT_NE(withheld.error().message.find(effect.reason), std::string::npos);
  // A reason for a verdict withholds nothing.
  analysis.effects[0].verdict = stats::Verdict::same;
  EXPECT_TRUE(measured_in(analysis));
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
