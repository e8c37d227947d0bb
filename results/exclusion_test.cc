// SPDX-License-Identifier: MIT
// What rules that exclude trials leave.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "results/document.h"
#include "results/exclusion/judge.h"
#include "results/testing.h"

namespace stab::results {
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
