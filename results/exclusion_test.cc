// SPDX-License-Identifier: MIT
#include "results/exclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "results/document.h"
#include "results/testing.h"

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
  EXPECT_EQ(trial.reason,
            "interrupts_per_s is 60, but the plan excludes trials with interrupts_per_s > 50");
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

using store::TrialStatus;

class TallyTest : public ::testing::Test {
 protected:
  TallyTest() {
    plan_.exclude = {{.quantity = "steal_share", .bound = plan::Bound::above, .limit = 0.01},
                     {.quantity = "interrupts_per_s", .bound = plan::Bound::above, .limit = 50}};
    plan_.analysis.alpha = 0.05;
  }
  // Of 1 s.
  bool add(Tally& tally, std::uint32_t position, std::uint32_t attempt, std::int64_t interrupts,
           TrialStatus status = TrialStatus::ok, bool last = true) {
    store::Trial trial{.position = position,
                       .attempt = attempt,
                       .last = last,
                       .block = position / 2,
                       .benchmark = "b",
                       .status = status,
                       .wall_ns = 1'000'000'000};
    if (interrupts >= 0) trial.readings = {counters::counted("interrupts", "", interrupts)};
    mark(plan_.exclude, trial);
    return tally.add(trial, position % 2 == 0 ? "b x=1" : "b x=2");
  }

  plan::Plan plan_;
};

TEST_F(TallyTest, CountsAttemptsRulesAndCells) {
  Tally tally(plan_);
  EXPECT_TRUE(add(tally, 0, 0, 80, TrialStatus::ok, false));
  EXPECT_FALSE(add(tally, 0, 1, 20));
  EXPECT_TRUE(add(tally, 1, 0, 20));
  EXPECT_TRUE(add(tally, 2, 0, 80, TrialStatus::ok, false));
  EXPECT_FALSE(add(tally, 2, 1, 90));
  EXPECT_FALSE(add(tally, 3, 0, 80, TrialStatus::timeout, false));
  EXPECT_TRUE(add(tally, 3, 1, 20));
  EXPECT_TRUE(add(tally, 4, 0, -1));
  const report::Exclusions found = tally.result();
  EXPECT_EQ(found.disturbed, 3U);
  EXPECT_EQ(found.lost, 1U);
  ASSERT_EQ(found.rules.size(), 2U);
  EXPECT_EQ(found.rules[0].when, "steal_share > 0.01");
  EXPECT_EQ(found.rules[0].caught, 0U);
  EXPECT_EQ(found.rules[0].open, 7U);
  EXPECT_EQ(found.rules[1].caught, 3U);
  EXPECT_EQ(found.rules[1].open, 1U);
  // The one that no rule could judge is in no cell.
  ASSERT_EQ(found.cells.size(), 2U);
  EXPECT_EQ(found.cells[0].judged, 2U);
  EXPECT_EQ(found.cells[0].disturbed, 2U);
  EXPECT_EQ(found.cells[1].judged, 2U);
  EXPECT_EQ(found.cells[1].disturbed, 0U);
  ASSERT_TRUE(found.p);
  EXPECT_FALSE(found.depends());
}

TEST_F(TallyTest, DisturbancesOfOneCellDependOnIt) {
  Tally tally(plan_);
  for (std::uint32_t position = 0; position < 40; ++position)
    add(tally, position, 0, position % 2 == 0 && position < 24 ? 80 : 20);
  EXPECT_TRUE(tally.result().depends());
}

TEST_F(TallyTest, WithoutDisturbancesThereIsNothingToTest) {
  Tally tally(plan_);
  for (std::uint32_t position = 0; position < 40; ++position) add(tally, position, 0, 20);
  EXPECT_FALSE(tally.result().p);
  EXPECT_FALSE(tally.result().depends());
}

}  // namespace
}  // namespace stab::exclusion

namespace stab::results {

// What rules that exclude trials leave.

namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As a session stores them: the trial at these positions is disturbed so many times.
class ExclusionTest : public DocumentTest {
 protected:
  void run_disturbed(const std::map<std::uint32_t, int>& times, bool stands,
                     const std::string& text = tables) {
    begin(text + "[[exclude]]\nwhen = 'interrupts_per_s > 50'\n");
    for (const plan::Trial& planned : expansion_.trials) {
      const auto found = times.find(planned.position);
      const int count = found == times.end() ? 0 : found->second;
      const int attempts = stands ? std::max(count, 1) : count + 1;
      for (int attempt = 0; attempt < attempts; ++attempt) {
        Trial done = trial(planned);
        done.attempt = static_cast<std::uint32_t>(attempt);
        done.last = attempt + 1 == attempts;
        *done.wall_ns += done.seed % 20;
        if (attempt < count) done.wall_ns = 50'000'000;
        // A disturbed one of 50 ms has 200 a second.
        done.readings = {counters::counted("interrupts", "", attempt < count ? 10 : 0)};
        exclusion::mark(plan_.exclude, done);
        store(done);
      }
    }
  }
  // Of a measured trial of bubble at slow.
  [[nodiscard]] std::uint32_t some_position() const {
    for (const plan::Trial& planned : expansion_.trials)
      if (!planned.warmup && planned.benchmark == 0 && planned.levels[0].name == "slow")
        return planned.position;
    return 0;
  }
};

TEST_F(ExclusionTest, ARepeatTakesThePlaceOfADisturbedTrial) {
  begin(tables);
  run_disturbed({{some_position(), 1}}, false);
  const auto all = document();
  EXPECT_EQ(all.trials.ok, 16U);
  EXPECT_EQ(all.trials.disturbed, 0U);
  EXPECT_EQ(mean_of(all, "bubble", "slow")->n, 4U);
  EXPECT_NEAR(mean_of(all, "bubble", "slow")->mean, 2e6, 20);
  ASSERT_TRUE(all.exclusions);
  EXPECT_EQ(all.exclusions->disturbed, 1U);
  EXPECT_EQ(all.exclusions->lost, 0U);
}

TEST_F(ExclusionTest, ABlockThatStaysDisturbedIsInNoComparisonThatNeedsIt) {
  begin(tables);
  run_disturbed({{some_position(), 2}}, true);
  const auto all = document();
  EXPECT_EQ(all.trials.ok, 15U);
  EXPECT_EQ(all.trials.disturbed, 1U);
  EXPECT_EQ(all.trials.failed, 0U);
  EXPECT_THAT(all.failures, IsEmpty());
  EXPECT_FALSE(all.looked_early);
  ASSERT_EQ(all.analysis.effects.size(), 2U);
  EXPECT_EQ(all.analysis.effects[0].subject, "bubble");
  EXPECT_EQ(all.analysis.effects[0].units, 3U);
  EXPECT_EQ(all.analysis.effects[1].units, 4U);
  EXPECT_EQ(all.exclusions->lost, 1U);
}

TEST_F(ExclusionTest, WithoutTheRulesFirstAttemptsWouldStand) {
  begin(tables);
  run_disturbed({{some_position(), 1}}, false);
  const auto all = document();
  ASSERT_EQ(all.exclusions->without.size(), 2U);
  EXPECT_NEAR(*all.analysis.effects[0].ratio, 0.5, 1e-4);
  // One of four slow trials took 50 ms.
  EXPECT_NEAR(*all.exclusions->without[0].ratio, 0.5 / std::pow(25, 0.25), 1e-4);
  EXPECT_EQ(all.exclusions->without[0].units, 4U);
}

TEST_F(ExclusionTest, ALevelThatLostAllItsTrialsLeavesTheExperimentUnsure) {
  std::string three = tables;
  const std::string two = "levels = { slow";
  three.replace(three.find(two), two.size(), "levels = { third = { MODE = \"t\" }, slow");
  three += "[analysis]\nequivalence = '10%'\n";
  begin(three);
  std::map<std::uint32_t, int> times;
  for (const plan::Trial& planned : expansion_.trials)
    if (!planned.warmup && planned.levels[0].name == "slow") times[planned.position] = 1;
  ASSERT_EQ(times.size(), 8U);
  run_disturbed(times, true, three);
  const auto all = document();
  EXPECT_EQ(all.trials.failed, 0U);
  EXPECT_FALSE(stats::findings(all.analysis).unsure);
  ASSERT_EQ(all.exclusions->vanished.size(), 2U);
  EXPECT_EQ(all.exclusions->vanished[0].subject, "bubble");
  EXPECT_TRUE(all.findings().unsure);
}

// Left in, the one trial of 50 ms would make an interval of several percent.
TEST_F(ExclusionTest, AStoppingRuleSeesTheTrialsThatTheRulesLeave) {
  std::string stops = tables;
  stops.replace(stops.find("repetitions = 4\n"), std::string("repetitions = 4\n").size(), "");
  stops += "[design]\nstop = { rule = 'precision', half_width = '1%', min = 15, max = 20 }\n";
  for (const bool stands : {false, true}) {
    begin(stops);
    run_disturbed({{some_position(), 2}}, stands, stops);
    const auto seen = look_at_trials(*store_, experiment_, plan_, 20);
    ASSERT_TRUE(seen);
    EXPECT_TRUE(seen->stop) << seen->words;
    EXPECT_THAT(document().stopping->words, HasSubstr(seen->words));
  }
}

TEST_F(ExclusionTest, APlanWithoutRulesOrWithoutDisturbancesHasNoOtherResult) {
  begin(tables);
  run();
  EXPECT_FALSE(document().exclusions);
  run_disturbed({}, false);
  EXPECT_THAT(document().exclusions->without, IsEmpty());
  EXPECT_FALSE(document().exclusions->p);
}

}  // namespace
}  // namespace stab::results
