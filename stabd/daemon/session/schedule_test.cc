// SPDX-License-Identifier: MIT
#include "stabd/daemon/session/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "design/trial_list.h"

namespace stab::daemon {
namespace {

using store::TrialStatus;

class ScheduleTest : public ::testing::Test {
 protected:
  ScheduleTest() {
    plan_.benchmarks.resize(2);
    plan_.give_up_after = 2;
    for (plan::Benchmark& benchmark : plan_.benchmarks) benchmark.repetitions = 4;
    do {
      ++plan_.seed;
      expansion_ = plan::expand(plan_);
    } while (!they_alternate());
  }

  [[nodiscard]] bool they_alternate() const {
    return std::ranges::all_of(expansion_.trials, [](const plan::Trial& trial) {
      return trial.benchmark == trial.position % 2;
    });
  }

  Schedule fresh() { return {plan_, expansion_, {}}; }

  // Stores the next step as if it had ended so; steps that are not to be run are stored as they
  // say.
  static Schedule::Step take(Schedule& schedule, TrialStatus status) {
    const auto step = schedule.next();
    if (!step) {
      ADD_FAILURE() << "nothing is left";
      return {};
    }
    schedule.record(*step, step->without_running.value_or(status));
    return *step;
  }

  plan::Plan plan_;
  plan::Expansion expansion_;
};

TEST_F(ScheduleTest, PositionsComeInOrderAndThenNoMore) {
  Schedule schedule = fresh();
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(take(schedule, TrialStatus::ok).position, i);
  EXPECT_FALSE(schedule.next());
  EXPECT_EQ(schedule.counts().ok, 8U);
}

TEST_F(ScheduleTest, AFailedTrialIsRepeatedAtItsPlaceAsOftenAsThePlanSays) {
  plan_.retries = 1;
  Schedule schedule = fresh();
  EXPECT_EQ(take(schedule, TrialStatus::wrong_exit).attempt, 0U);
  const auto again = take(schedule, TrialStatus::timeout);
  EXPECT_EQ(again.position, 0U);
  EXPECT_EQ(again.attempt, 1U);
  EXPECT_EQ(schedule.next()->position, 1U);
  EXPECT_EQ(schedule.counts().failed, 1U);
}

TEST_F(ScheduleTest, ABenchmarkThatKeepsFailingIsSkippedTheOtherGoesOn) {
  Schedule schedule = fresh();
  for (int i = 0; i < 4; ++i) take(schedule, i % 2 == 0 ? TrialStatus::signalled : TrialStatus::ok);
  const auto skipped = take(schedule, TrialStatus::ok);
  EXPECT_EQ(skipped.without_running, TrialStatus::skipped);
  EXPECT_NE(skipped.reason, "");
  EXPECT_EQ(take(schedule, TrialStatus::ok).without_running, std::nullopt);
  take(schedule, TrialStatus::ok);
  take(schedule, TrialStatus::ok);
  EXPECT_FALSE(schedule.next());
  EXPECT_EQ(schedule.counts().failed, 2U);
  EXPECT_EQ(schedule.counts().skipped, 2U);
  EXPECT_EQ(schedule.counts().ok, 4U);
}

TEST_F(ScheduleTest, ASuccessStartsTheCountOfFailuresAnew) {
  Schedule schedule = fresh();
  for (int i = 0; i < 8; ++i) {
    const auto step = take(schedule, i % 4 == 0 ? TrialStatus::wrong_exit : TrialStatus::ok);
    EXPECT_EQ(step.without_running, std::nullopt);
  }
}

TEST_F(ScheduleTest, APlainTrialThatSucceedsHidesNoFailures) {
  plan_.benchmarks.resize(1);
  plan_.benchmarks[0].repetitions = 5;
  plan_.analysis.cost = true;
  do {
    ++plan_.seed;
    expansion_ = plan::expand(plan_);
  } while (!expansion_.trials[1].plain);
  Schedule schedule = fresh();
  take(schedule, TrialStatus::signalled);
  take(schedule, TrialStatus::ok);
  take(schedule, TrialStatus::signalled);
  EXPECT_EQ(take(schedule, TrialStatus::ok).without_running, TrialStatus::skipped);
}

TEST_F(ScheduleTest, AFailedBuildTakesAllTrialsOfItsBenchmark) {
  Schedule schedule = fresh();
  schedule.fail_benchmark(1, "no compiler");
  take(schedule, TrialStatus::ok);
  const auto step = take(schedule, TrialStatus::ok);
  EXPECT_EQ(step.without_running, TrialStatus::build_failed);
  EXPECT_EQ(step.reason, "no compiler");
}

// After stabctl retry: what stands stays, the others get one more attempt each.
TEST_F(ScheduleTest, OpenPositionsAmongFinishedOnesAreAttemptedInOrder) {
  plan_.retries = 1;
  std::vector<store::Store::Progress> stored;
  for (std::uint32_t i = 0; i < 8; ++i)
    stored.push_back({.position = i, .attempts = 1, .done = true, .status = TrialStatus::ok});
  stored[2] = {.position = 2, .attempts = 2, .done = false, .status = TrialStatus::timeout};
  stored[5] = {.position = 5, .attempts = 1, .done = false, .status = TrialStatus::skipped};
  Schedule schedule(plan_, expansion_, stored);
  EXPECT_EQ(schedule.next()->attempt, 2U);
  EXPECT_EQ(take(schedule, TrialStatus::timeout).position, 2U);
  EXPECT_EQ(schedule.next()->attempt, 1U);
  EXPECT_EQ(take(schedule, TrialStatus::ok).position, 5U);
  EXPECT_FALSE(schedule.next());
  EXPECT_EQ(schedule.counts().failed, 1U);
  EXPECT_EQ(schedule.counts().ok, 7U);
}

TEST_F(ScheduleTest, ADisturbedTrialComesAgainBehindTheOthersOfItsBlock) {
  plan_.exclude_repeats = 2;
  Schedule schedule = fresh();
  EXPECT_EQ(take(schedule, TrialStatus::disturbed).position, 0U);
  EXPECT_EQ(take(schedule, TrialStatus::ok).position, 1U);
  const auto again = take(schedule, TrialStatus::disturbed);
  EXPECT_EQ(again.position, 0U);
  EXPECT_EQ(again.attempt, 1U);
  EXPECT_EQ(take(schedule, TrialStatus::ok).attempt, 2U);
  EXPECT_EQ(schedule.next()->position, 2U);
  EXPECT_EQ(schedule.counts().ok, 2U);
  EXPECT_EQ(schedule.counts().disturbed, 0U);
}

TEST_F(ScheduleTest, ThoseWithFewerDisturbancesComeFirst) {
  plan_.exclude_repeats = 2;
  Schedule schedule = fresh();
  take(schedule, TrialStatus::disturbed);
  take(schedule, TrialStatus::disturbed);
  EXPECT_EQ(take(schedule, TrialStatus::disturbed).position, 0U);
  EXPECT_EQ(take(schedule, TrialStatus::ok).position, 1U);
  EXPECT_EQ(take(schedule, TrialStatus::ok).position, 0U);
  EXPECT_EQ(schedule.next()->position, 2U);
}

TEST_F(ScheduleTest, TheLastAttemptStandsEvenIfItIsDisturbedAndTheBenchmarkHasNotFailed) {
  plan_.exclude_repeats = 1;
  plan_.retries = 0;
  Schedule schedule = fresh();
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(take(schedule, TrialStatus::disturbed).without_running, std::nullopt);
  EXPECT_FALSE(schedule.next());
  EXPECT_EQ(schedule.counts().disturbed, 8U);
  EXPECT_EQ(schedule.counts().failed, 0U);
  EXPECT_EQ(schedule.counts().finished(), schedule.counts().total);
}

TEST_F(ScheduleTest, WithoutRepeatsTheFirstAttemptStands) {
  plan_.exclude_repeats = 0;
  Schedule schedule = fresh();
  EXPECT_EQ(take(schedule, TrialStatus::disturbed).position, 0U);
  EXPECT_EQ(take(schedule, TrialStatus::ok).position, 1U);
  EXPECT_EQ(schedule.next()->position, 2U);
}

TEST_F(ScheduleTest, DisturbedAttemptsCountAmongNoRetries) {
  plan_.exclude_repeats = 1;
  plan_.retries = 1;
  Schedule schedule = fresh();
  take(schedule, TrialStatus::disturbed);
  take(schedule, TrialStatus::ok);
  EXPECT_EQ(take(schedule, TrialStatus::timeout).attempt, 1U);
  const auto at_once = take(schedule, TrialStatus::timeout);
  EXPECT_EQ(at_once.position, 0U);
  EXPECT_EQ(at_once.attempt, 2U);
  EXPECT_EQ(schedule.next()->position, 2U);
  EXPECT_EQ(schedule.counts().failed, 1U);
}

TEST_F(ScheduleTest, ADisturbedTrialOfABenchmarkThatGaveUpIsSkippedAtItsEnd) {
  plan_.exclude_repeats = 1;
  Schedule schedule = fresh();
  take(schedule, TrialStatus::disturbed);
  schedule.fail_benchmark(0, "no binary");
  EXPECT_EQ(take(schedule, TrialStatus::ok).position, 1U);
  const auto skipped = take(schedule, TrialStatus::ok);
  EXPECT_EQ(skipped.position, 0U);
  EXPECT_EQ(skipped.without_running, TrialStatus::build_failed);
  EXPECT_EQ(schedule.next()->position, 2U);
}

// C1 and C2 at every instant at which a daemon can be killed.
TEST_F(ScheduleTest, AfterAKillItGoesOnWhereTheStoreEnds) {
  plan_.retries = 1;
  plan_.exclude_repeats = 1;
  const std::vector<TrialStatus> ends{
      TrialStatus::ok,        TrialStatus::timeout, TrialStatus::ok,        TrialStatus::signalled,
      TrialStatus::signalled, TrialStatus::ok,      TrialStatus::timeout,   TrialStatus::timeout,
      TrialStatus::disturbed, TrialStatus::timeout, TrialStatus::disturbed, TrialStatus::disturbed,
      TrialStatus::ok,        TrialStatus::ok,      TrialStatus::ok,        TrialStatus::ok};
  for (std::size_t killed = 0; killed <= ends.size(); ++killed) {
    Schedule whole = fresh();
    std::vector<store::Store::Progress> stored(expansion_.trials.size());
    std::size_t i = 0;
    for (; i < killed && whole.next(); ++i) {
      const auto step = *whole.next();
      const TrialStatus status = step.without_running.value_or(ends[i]);
      const bool disturbed = status == TrialStatus::disturbed;
      stored[step.position] = {.position = step.position,
                               .attempts = step.attempt + 1,
                               .disturbed = step.disturbed + (disturbed ? 1U : 0U),
                               .done = whole.is_last(step, status),
                               .status = status};
      whole.record(step, status);
    }
    std::erase_if(stored, [](const auto& entry) { return entry.attempts == 0; });
    Schedule resumed(plan_, expansion_, stored);
    for (; i < ends.size() && whole.next(); ++i) {
      ASSERT_TRUE(resumed.next());
      EXPECT_EQ(resumed.next()->position, whole.next()->position);
      EXPECT_EQ(resumed.next()->attempt, whole.next()->attempt);
      EXPECT_EQ(resumed.next()->without_running, whole.next()->without_running);
      take(whole, ends[i]);
      take(resumed, ends[i]);
    }
    EXPECT_EQ(resumed.next().has_value(), whole.next().has_value());
    EXPECT_EQ(resumed.counts().failed, whole.counts().failed);
    EXPECT_EQ(resumed.counts().disturbed, whole.counts().disturbed);
  }
}

// Whatever happened, and also where the last trials of a block were put behind the others.
TEST_F(ScheduleTest, AfterAKillItGivesUpWhereItWouldHave) {
  plan_.retries = 1;
  plan_.exclude_repeats = 2;
  plan_.give_up_after = 2;
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same walks each time
  std::uint64_t skipped = 0;
  for (int walk = 0; walk < 300; ++walk) {
    Schedule live = fresh();
    std::vector<store::Store::Progress> stored(expansion_.trials.size());
    for (std::size_t pieces = 1; const auto step = live.next(); ++pieces) {
      const std::array drawn{TrialStatus::ok, TrialStatus::disturbed, TrialStatus::timeout};
      const TrialStatus status = step->without_running.value_or(drawn[random() % drawn.size()]);
      skipped += status == TrialStatus::skipped ? 1 : 0;
      const bool disturbed = status == TrialStatus::disturbed;
      stored[step->position] = {.position = step->position,
                                .attempts = step->attempt + 1,
                                .disturbed = step->disturbed + (disturbed ? 1U : 0U),
                                .done = live.is_last(*step, status),
                                .status = status};
      live.record(*step, status);
      // It is loaded in pieces of any size.
      Schedule resumed = fresh();
      std::vector<store::Store::Progress> piece;
      for (const auto& entry : stored) {
        if (entry.attempts > 0) piece.push_back(entry);
        if (piece.size() < pieces) continue;
        resumed.remember(piece);
        piece.clear();
      }
      resumed.remember(piece);
      resumed.loaded();
      ASSERT_EQ(resumed.next().has_value(), live.next().has_value());
      if (!live.next()) break;
      ASSERT_EQ(resumed.next()->position, live.next()->position) << walk;
      ASSERT_EQ(resumed.next()->attempt, live.next()->attempt) << walk;
      ASSERT_EQ(resumed.next()->without_running, live.next()->without_running) << walk;
    }
  }
  EXPECT_GT(skipped, 50U);
}

}  // namespace
}  // namespace stab::daemon
