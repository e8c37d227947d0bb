// SPDX-License-Identifier: MIT
#include "results/exclusion/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stab::exclusion {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

store::Trial trial_with(std::vector<counters::Reading> readings) {
  return {
      .status = store::TrialStatus::ok, .wall_ns = 500'000'000, .readings = std::move(readings)};
}

Value value(const char* name, const store::Trial& trial) {
  return value_of(*plan::find_quantity(name), trial.readings, trial.wall_ns);
}

TEST(Judge, WhatIsCountedIsPerSecondAndWhatLastsAShare) {
  const store::Trial trial = trial_with(
      {counters::counted("interrupts", "", 30), counters::counted("steal-ns", "ns", 10'000'000)});
  EXPECT_DOUBLE_EQ(value("interrupts_per_s", trial).value(), 60);
  EXPECT_DOUBLE_EQ(value("steal_share", trial).value(), 0.02);
}

TEST(Judge, ChangesAreBetweenTwoReadings) {
  const store::Trial trial =
      trial_with({counters::counted("frequency-before-khz", "kHz", 2'000'000),
                  counters::counted("frequency-after-khz", "kHz", 1'500'000),
                  counters::counted("temperature-before-c", "C", 50.5),
                  counters::counted("temperature-after-c", "C", 48.0)});
  EXPECT_DOUBLE_EQ(value("frequency_change", trial).value(), 0.25);
  EXPECT_DOUBLE_EQ(value("temperature_change_c", trial).value(), -2.5);
  EXPECT_DOUBLE_EQ(value("temperature_after_c", trial).value(), 48);
}

TEST(Judge, WhatIsAbsentIsNoZeroAndSaysWhy) {
  store::Trial trial = trial_with({counters::absent("steal-ns", "ns", "/proc/stat does not exist"),
                                   counters::counted("interrupts", "", 30),
                                   counters::counted("frequency-before-khz", "kHz", 0),
                                   counters::counted("frequency-after-khz", "kHz", 1)});
  EXPECT_EQ(value("steal_share", trial).error(), "/proc/stat does not exist");
  EXPECT_THAT(value("softirqs_per_s", trial).error(), HasSubstr("no softirqs"));
  EXPECT_THAT(value("frequency_change", trial).error(), HasSubstr("is 0"));
  trial.wall_ns.reset();
  EXPECT_THAT(value("interrupts_per_s", trial).error(), HasSubstr("wall time"));
}

TEST(Judge, AnAbsentQuantityIsOpenEvenForRulesThatZeroWouldBreak) {
  const std::vector<plan::Exclusion> rules{
      {.quantity = "frequency_before_khz", .bound = plan::Bound::below, .limit = 1000},
      {.quantity = "interrupts_per_s", .bound = plan::Bound::at_least, .limit = 60}};
  const Judgement judgement = judge(rules, trial_with({counters::counted("interrupts", "", 30)}));
  EXPECT_THAT(judgement.open, ElementsAre(0));
  ASSERT_TRUE(judgement.caught);
  EXPECT_EQ(judgement.caught->rule, 1U);
}

TEST(Judge, AResponseDoesNotMatter) {
  const std::vector<plan::Exclusion> rules{
      {.quantity = "temperature_after_c", .bound = plan::Bound::above, .limit = 50}};
  store::Trial trial = trial_with({counters::counted("temperature-after-c", "C", 49.0)});
  for (const std::int64_t wall : {1, 1'000'000'000}) {
    trial.wall_ns = trial.user_ns = trial.system_ns = trial.max_rss_bytes = wall;
    EXPECT_FALSE(judge(rules, trial).caught);
  }
}

TEST(Judge, ATrialThatIsCaughtSaysByWhichRuleAndValue) {
  const std::vector<plan::Exclusion> rules{
      {.quantity = "steal_share", .bound = plan::Bound::above, .limit = 0.01},
      {.quantity = "interrupts_per_s", .bound = plan::Bound::above, .limit = 50}};
  store::Trial trial = trial_with({counters::counted("interrupts", "", 30)});
  mark(rules, trial);
  EXPECT_EQ(trial.status, store::TrialStatus::disturbed);
  EXPECT_EQ(trial.reason, "interrupts_per_s is 60, but the plan excludes interrupts_per_s > 50");
  EXPECT_EQ(rule_of(trial), 1U);
  ASSERT_EQ(trial.readings.size(), 3U);
  EXPECT_EQ(trial.readings[2], counters::counted("exclude-value", "1/s", 60.0));
}

TEST(Judge, ARowThatContradictsItsReadingsIsNotMarkedRight) {
  const std::vector<plan::Exclusion> rules{
      {.quantity = "steal_share", .bound = plan::Bound::above, .limit = 0.01},
      {.quantity = "interrupts_per_s", .bound = plan::Bound::above, .limit = 50}};
  const store::Trial loud = trial_with({counters::counted("interrupts", "", 30)});
  EXPECT_FALSE(is_marked_right(rules, loud));
  EXPECT_TRUE(is_marked_right({}, loud));
  store::Trial marked = loud;
  mark(rules, marked);
  EXPECT_TRUE(is_marked_right(rules, marked));
  EXPECT_FALSE(is_marked_right({}, marked));
  marked.readings[1] = counters::counted(std::string(rule_reading), "", std::int64_t{1});
  EXPECT_FALSE(is_marked_right(rules, marked));
  store::Trial silent = trial_with({counters::counted("interrupts", "", 3)});
  EXPECT_TRUE(is_marked_right(rules, silent));
  silent.status = store::TrialStatus::disturbed;
  EXPECT_FALSE(is_marked_right(rules, silent));
  store::Trial warmup = loud;
  warmup.warmup = true;
  EXPECT_TRUE(is_marked_right(rules, warmup));
  warmup.status = store::TrialStatus::disturbed;
  EXPECT_FALSE(is_marked_right(rules, warmup));
  store::Trial failed = loud;
  failed.status = store::TrialStatus::timeout;
  EXPECT_TRUE(is_marked_right(rules, failed));
}

TEST(Judge, WarmUpsAndFailedTrialsAreNotMarked) {
  const std::vector<plan::Exclusion> rules{
      {.quantity = "interrupts_per_s", .bound = plan::Bound::above, .limit = 50}};
  store::Trial trial = trial_with({counters::counted("interrupts", "", 30)});
  trial.warmup = true;
  mark(rules, trial);
  EXPECT_EQ(trial.status, store::TrialStatus::ok);
  trial.warmup = false;
  trial.status = store::TrialStatus::wrong_exit;
  mark(rules, trial);
  EXPECT_EQ(trial.status, store::TrialStatus::wrong_exit);
  EXPECT_FALSE(rule_of(trial));
}

}  // namespace
}  // namespace stab::exclusion
