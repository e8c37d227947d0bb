// SPDX-License-Identifier: MIT
#include "stats/series/watch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace stab::stats {
namespace {

std::vector<double> series(std::size_t n, double correlation, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  std::vector<double> result;
  double last = normal(engine);
  for (std::size_t i = 0; i < n; ++i) {
    result.push_back(100 + last);
    last = correlation * last + std::sqrt(1 - correlation * correlation) * normal(engine);
  }
  return result;
}

// Of 300 series in which nothing changes, 5 % may ever raise an alarm in 1,000 numbers; more than 26
// of 300 would be one in a thousand such tests.
TEST(Watch, FewSeriesEverRaiseAnAlarm) {
  for (const double correlation : {0.0, 0.3}) {
    int alarmed = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed)
      alarmed += watch(series(1000, correlation, seed), {}).empty() ? 0 : 1;
    EXPECT_LE(alarmed, 26) << correlation;
  }
}

std::vector<Limits> limits_of(const std::vector<double>& numbers) {
  std::vector<Limits> limits;
  for (const double each : numbers) limits.push_back({.low = each, .high = each});
  return limits;
}

TEST(Watch, NumbersThatAreKnownExactlyHaveTheSameAlarmsAsLimits) {
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<double> numbers = series(60, 0.3, seed);
    for (std::size_t i = 20; i < 40; ++i) numbers[i] += 6;
    const std::vector<Alarm> alarms = watch(numbers, {});
    const std::vector<Alarm> same = watch_limits(limits_of(numbers), {});
    ASSERT_EQ(alarms.size(), same.size());
    for (std::size_t i = 0; i < alarms.size(); ++i) {
      EXPECT_EQ(alarms[i].raised, same[i].raised);
      EXPECT_EQ(alarms[i].at, same[i].at);
    }
    found += alarms.size();
  }
  EXPECT_GE(found, 20U);
}

// The numbers fall before the step, so their mean is above the new level although the step goes up.
TEST(Watch, LimitsKeepTheAlarmOfAStepAgainstATrend) {
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::vector<double> numbers = series(44, 0, seed);
    for (std::size_t i = 0; i < 44; ++i) {
      const double fall = i < 20 ? 0 : 0.5 * static_cast<double>(i - 19);
      numbers[i] = 0.3 * numbers[i] + (i < 36 ? 8 - fall : 4.8);
    }
    const std::vector<Alarm> alarms = watch(numbers, {});
    const std::vector<Alarm> same = watch_limits(limits_of(numbers), {});
    ASSERT_EQ(alarms.size(), same.size()) << seed;
    for (std::size_t i = 0; i < alarms.size(); ++i) EXPECT_EQ(alarms[i].at, same[i].at);
    found += alarms.size();
  }
  EXPECT_GE(found, 3U);
}

TEST(Watch, AChangeThatTheLimitsDoNotKeepIsNoAlarm) {
  std::vector<Limits> limits = limits_of(series(30, 0, 1));
  for (std::size_t i = 20; i < 30; ++i) limits[i].low = limits[i].high += 20;
  ASSERT_EQ(watch_limits(limits, {}).size(), 1U);
  std::vector<Limits> wide = limits;
  for (std::size_t i = 20; i < 30; ++i) wide[i].low -= 20;
  EXPECT_TRUE(watch_limits(wide, {}).empty());
  wide = limits;
  for (std::size_t i = 20; i < 30; ++i) wide[i].high = INFINITY;
  EXPECT_EQ(watch_limits(wide, {}).size(), 1U) << "more than that is a change, too";
  wide = limits;
  for (std::size_t i = 0; i < 20; ++i) wide[i].high += 20;
  EXPECT_TRUE(watch_limits(wide, {}).empty());
  for (std::size_t i = 0; i < 20; ++i) wide[i].high = INFINITY;
  EXPECT_TRUE(watch_limits(wide, {}).empty()) << "too few numbers are left before the change";
}

TEST(Watch, ANumberWithoutALimitIsNoEvidence) {
  const std::vector<Limits> some{{1, 1}, {2, INFINITY}, {-INFINITY, 3},
                                 {5, 5}, {4, INFINITY}, {-INFINITY, INFINITY}};
  EXPECT_EQ(least_favourable(some, 3, true), (std::vector<double>{1, 5, 3, 5, 4, 1}));
  EXPECT_EQ(least_favourable(some, 3, false), (std::vector<double>{1, 2, 1, 5, 5, 5}));
  const std::vector<Limits> open{{1, INFINITY}, {-INFINITY, 3}};
  EXPECT_TRUE(least_favourable(open, 1, true).empty());
}

// Every third experiment has a trial that timed out, at one and a half times the level of the others.
// The others alone are no fair picture of what was normal.
TEST(Watch, TimeoutsThatWereAlwaysThereAreNoChange) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<Limits> limits = limits_of(series(200, 0, seed));
    for (std::size_t i = 0; i < limits.size(); i += 3) {
      limits[i].low += 50;
      limits[i].high = INFINITY;
    }
    EXPECT_TRUE(watch_limits(limits, {}).empty()) << seed;
    // A change of all experiments stands out nevertheless.
    for (std::size_t i = 120; i < 200; ++i) limits[i].low += 100;
    for (std::size_t i = 120; i < 200; ++i) limits[i].high += 100;
    const std::vector<Alarm> alarms = watch_limits(limits, {});
    ASSERT_EQ(alarms.size(), 1U) << seed;
    EXPECT_NEAR(static_cast<double>(alarms[0].at), 120, 3);
  }
}

TEST(Watch, FindsAStepAndWhereItIs) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::vector<double> numbers = series(300, 0, seed);
    for (std::size_t i = 200; i < 300; ++i) numbers[i] += 4;
    const std::vector<Alarm> alarms = watch(numbers, {});
    if (alarms.empty() || alarms.back().at < 195 || alarms.back().at > 205) continue;
    EXPECT_LE(alarms.back().raised, 215U);
    ++found;
  }
  EXPECT_GE(found, 90);
}

// Of steps of one, two and four standard deviations behind 200 numbers whose neighbours have a
// correlation of 0.3: a CUSUM that knows mean, variance, correlation and step, and has as many false
// alarms, takes 28.4, 8.0 and 2.0 numbers on average (simulated: doc/history.md). The mean delay of
// 400 series is at most 1.5 times that, and four standard errors.
TEST(Watch, TakesHardlyLongerThanAChartThatKnowsAll) {
  struct Case {
    double step;
    double chart;
    double sd;  // of a delay
  };
  for (const Case& each : {Case{1, 28.4, 25}, Case{2, 8.0, 5}, Case{4, 2.03, 1.4}}) {
    double sum = 0;
    int counted = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
      constexpr std::size_t before = 200;
      std::vector<double> numbers = series(before + 400, 0.3, 5000 + seed);
      for (std::size_t i = before; i < numbers.size(); ++i) numbers[i] += each.step;
      const std::vector<Alarm> alarms = watch(numbers, {});
      if (!alarms.empty() && alarms.front().raised < before) continue;
      ++counted;
      sum += static_cast<double>(alarms.empty() ? 400 : alarms.front().raised - before + 1);
    }
    EXPECT_LE(sum / counted, 1.5 * each.chart + 4 * each.sd / std::sqrt(counted)) << each.step;
  }
}

// What was said stays said: an alarm does not depend on later numbers.
TEST(Watch, LaterNumbersTakeNothingBack) {
  std::vector<double> numbers = series(120, 0, 3);
  for (std::size_t i = 60; i < 120; ++i) numbers[i] += 5;
  const std::vector<Alarm> all = watch(numbers, {});
  ASSERT_FALSE(all.empty());
  for (std::size_t n = all.front().raised + 1; n <= numbers.size(); ++n) {
    const std::vector<Alarm> part = watch(std::span(numbers).first(n), {});
    ASSERT_FALSE(part.empty()) << n;
    EXPECT_EQ(part.front().raised, all.front().raised);
    EXPECT_EQ(part.front().at, all.front().at);
  }
  EXPECT_TRUE(watch(std::span(numbers).first(all.front().raised), {}).empty());
}

TEST(Watch, NeedsAStartAndNumbersThatVary) {
  EXPECT_TRUE(watch({}, {}).empty());
  EXPECT_TRUE(watch(series(10, 0, 1), {}).empty());
  EXPECT_TRUE(watch(std::vector<double>(100, 7.0), {}).empty());
}

}  // namespace
}  // namespace stab::stats
