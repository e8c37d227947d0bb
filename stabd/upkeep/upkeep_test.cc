// SPDX-License-Identifier: MIT
#include "stabd/upkeep/upkeep.h"

#include <gmock/gmock.h>

#include "store/test_support.h"

namespace stab::upkeep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t day_ns = std::chrono::nanoseconds(std::chrono::days(1)).count();

class UpkeepTest : public store::WithStore {
 protected:
  void fill(std::uint32_t trials) {
    for (std::uint32_t position = 0; position < trials; ++position)
      add(store::example_trial(experiment_, position));
  }
  int steps(Upkeep& upkeep) {
    int made = 0;
    for (; upkeep.has_work(); ++made) EXPECT_TRUE(upkeep.step());
    return made;
  }
  // The clocks go on alike; its end was seen at once.
  bool looks(Upkeep& upkeep, const settings::Retention& retention, std::int64_t now_ns) {
    const auto at = [this](std::int64_t ns) {
      return Clocks{.wall_ns = ns, .running_ns = ns - end_, .boot = "first"};
    };
    if (store_->age_clock().value().empty()) EXPECT_TRUE(upkeep.look(retention, at(end_)));
    return upkeep.look(retention, at(now_ns)).has_value();
  }
  const std::int64_t end_ = store::example_experiment().ended_ns;
};

TEST_F(UpkeepTest, WhatAKilledOneHadBegunIsRemovedByTheNext) {
  fill(60);
  {
    Upkeep upkeep(*store_);
    ASSERT_TRUE(upkeep.remove(*store_->experiment(experiment_).value(), "by user 7"));
    ASSERT_TRUE(upkeep.step());
  }
  reopen();
  Upkeep upkeep(*store_);
  EXPECT_FALSE(upkeep.has_work());
  ASSERT_TRUE(upkeep.load());
  EXPECT_GT(steps(upkeep), 0);
  EXPECT_EQ(store_->content(experiment_)->trials, 0U);
  EXPECT_THAT(store_->removals().value(), IsEmpty());
  EXPECT_EQ(store_->events(0)->front().text, "experiment 1 (sort) was removed by user 7");
}

TEST_F(UpkeepTest, UsersTakeTurns) {
  std::vector<store::Id> ids{experiment_};
  for (const std::uint32_t uid : {7U, 7U, 8U}) {
    store::Experiment row = store::example_experiment();
    row.uid = uid;
    ids.push_back(store_->add_experiment(row).value());
  }
  Upkeep upkeep(*store_);
  for (const store::Id id : ids) {
    for (std::uint32_t position = 0; position < 120; ++position) {
      store::Trial trial = store::example_trial(experiment_, position);
      trial.experiment = id;
      add(trial);
    }
    ASSERT_TRUE(upkeep.remove(*store_->experiment(id).value(), "by user 7"));
  }
  const auto left = [this](store::Id id) { return store_->content(id)->trials; };
  // One piece of each user's first, whoever came first; the second of user 7 waits for the first.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(upkeep.step());
  EXPECT_LT(left(ids[0]), 120U);
  EXPECT_LT(left(ids[1]), 120U);
  EXPECT_EQ(left(ids[2]), 120U);
  EXPECT_LT(left(ids[3]), 120U);
  steps(upkeep);
  for (const store::Id id : ids) EXPECT_EQ(left(id), 0U);
}

TEST_F(UpkeepTest, WithoutAnAgeNothingIsTooOld) {
  Upkeep upkeep(*store_);
  ASSERT_TRUE(looks(upkeep, {}, end_ + 1000 * day_ns));
  EXPECT_FALSE(upkeep.has_work());
}

TEST_F(UpkeepTest, OutputGoesWhenItIsOldAndOnlyOnce) {
  fill(60);
  Upkeep upkeep(*store_);
  ASSERT_TRUE(looks(upkeep, {.output_days = 3}, end_ + 3 * day_ns));
  EXPECT_FALSE(upkeep.has_work());
  ASSERT_TRUE(looks(upkeep, {.output_days = 3}, end_ + 3 * day_ns + 1));
  EXPECT_EQ(steps(upkeep), 3);
  for (const store::Trial& trial : trials_of(*store_, experiment_))
    EXPECT_EQ(trial.stderr_tail, "");
  EXPECT_EQ(store_->events(experiment_)->back().text,
            "the output of its trials and builds was removed 3 days after its end");
  ASSERT_TRUE(looks(upkeep, {.output_days = 3}, end_ + 4 * day_ns));
  EXPECT_FALSE(upkeep.has_work());
}

TEST_F(UpkeepTest, ExperimentsGoWhenTheyAreOld) {
  fill(60);
  Upkeep upkeep(*store_);
  ASSERT_TRUE(looks(upkeep, {.output_days = 1, .experiments_days = 1}, end_ + 2 * day_ns));
  steps(upkeep);
  EXPECT_EQ(store_->experiment(experiment_).value(), std::nullopt);
  EXPECT_EQ(store_->content(experiment_)->trials, 0U);
  EXPECT_THAT(store_->events(0)->front().text, HasSubstr("was removed 1 day after its end"));
}

TEST_F(UpkeepTest, WhatTheTimeOfDaySaysMakesNothingOld) {
  constexpr std::int64_t hour = day_ns / 24;
  constexpr std::int64_t far = 4000 * day_ns;
  fill(1);
  const settings::Retention retention{.output_days = 1, .experiments_days = 2};
  Upkeep upkeep(*store_);
  ASSERT_TRUE(upkeep.look(retention, {.wall_ns = end_, .running_ns = 5, .boot = "first"}));
  for (const std::int64_t wall : {end_ + far, end_ - far, std::int64_t{0}, end_ + far}) {
    ASSERT_TRUE(upkeep.look(retention, {.wall_ns = wall, .running_ns = 5 + hour, .boot = "first"}));
    EXPECT_FALSE(upkeep.has_work()) << wall;
  }
  // Nor that of another stabd while the machine runs on, however often it is started.
  for (int start = 0; start < 100; ++start) {
    Upkeep next(*store_);
    ASSERT_TRUE(
        next.look(retention, {.wall_ns = end_ + far, .running_ns = 5 + 2 * hour, .boot = "first"}));
    EXPECT_FALSE(next.has_work());
  }
  // Time that passes does.
  ASSERT_TRUE(upkeep.look(retention, {.wall_ns = 0, .running_ns = 6 + day_ns, .boot = "first"}));
  EXPECT_TRUE(upkeep.has_work());
}

TEST_F(UpkeepTest, AStartOfTheMachineIsADayAtMost) {
  constexpr std::int64_t far = 4000 * day_ns;
  fill(1);
  const settings::Retention retention{.experiments_days = 2};
  Upkeep upkeep(*store_);
  ASSERT_TRUE(upkeep.look(retention, {.wall_ns = end_, .running_ns = 5, .boot = "first"}));
  for (const char* boot : {"second", "third"}) {
    ASSERT_TRUE(upkeep.look(retention, {.wall_ns = end_ + far, .running_ns = 1, .boot = boot}));
    EXPECT_FALSE(upkeep.has_work()) << boot;
  }
  // Nor does it make anything younger.
  ASSERT_TRUE(upkeep.look(retention, {.wall_ns = 0, .running_ns = 1, .boot = "fourth"}));
  EXPECT_FALSE(upkeep.has_work());
  ASSERT_TRUE(upkeep.look(retention, {.wall_ns = 0, .running_ns = 3, .boot = "fourth"}));
  EXPECT_TRUE(upkeep.has_work());
}

TEST_F(UpkeepTest, AnExperimentThatEndedByAWrongClockIsAsOldAsOthers) {
  constexpr std::int64_t far = 4000 * day_ns;
  const settings::Retention retention{.experiments_days = 2};
  Upkeep upkeep(*store_);
  ASSERT_TRUE(upkeep.look(retention, {.wall_ns = end_, .running_ns = 0, .boot = "first"}));
  std::vector<store::Id> ids;
  for (const std::int64_t ended : {end_ - far, end_ + far}) {
    store::Experiment row = store::example_experiment();
    row.ended_ns = ended;
    ids.push_back(store_->add_experiment(row).value());
  }
  const auto look_after = [&](std::int64_t days) {
    const std::int64_t ns = days * day_ns;
    ASSERT_TRUE(upkeep.look(retention, {.wall_ns = end_ + ns, .running_ns = ns, .boot = "first"}));
  };
  look_after(1);
  look_after(3);  // the first one's time has come
  steps(upkeep);
  EXPECT_EQ(store_->experiment(experiment_).value(), std::nullopt);
  for (const store::Id id : ids) EXPECT_TRUE(store_->experiment(id).value()) << id;
  look_after(4);
  steps(upkeep);
  for (const store::Id id : ids) EXPECT_FALSE(store_->experiment(id).value()) << id;
  EXPECT_THAT(store_->seen_ends().value(), IsEmpty());
}

TEST_F(UpkeepTest, WhatGoesForItsAgeIsSaidByName) {
  fill(1);
  Upkeep upkeep(*store_);
  ASSERT_TRUE(looks(upkeep, {.output_days = 1, .experiments_days = 2}, end_ + 2 * day_ns));
  steps(upkeep);
  EXPECT_THAT(
      upkeep.news(),
      ElementsAre("experiment 1 (sort) of user 4294967295: the output of its trials and builds is "
                  "removed 1 day after its end"));
  ASSERT_TRUE(looks(upkeep, {.experiments_days = 2}, end_ + 2 * day_ns + 1));
  steps(upkeep);
  EXPECT_THAT(
      upkeep.news(),
      ElementsAre("experiment 1 (sort) of user 4294967295: is removed 2 days after its end"));
  EXPECT_THAT(upkeep.news(), IsEmpty());
}

TEST_F(UpkeepTest, WhatGoesOnMeanwhileIsNotTouched) {
  fill(60);
  Upkeep upkeep(*store_);
  ASSERT_TRUE(looks(upkeep, {.output_days = 1, .experiments_days = 1}, end_ + 2 * day_ns));
  store::Experiment again = store_->experiment(experiment_).value().value();
  again.ended_ns = 0;
  ASSERT_TRUE(store_->update_experiment(again));
  steps(upkeep);
  EXPECT_EQ(store_->experiment(experiment_).value(), again);
  EXPECT_EQ(trials_of(*store_, experiment_).front().stderr_tail, "oh\nno");
}

TEST_F(UpkeepTest, WhatIsDamagedDoesNotKeepTheRest) {
  const store::Id other = store_->add_experiment(store::example_experiment()).value();
  store_.reset();
  SQLite::Database(path_, SQLite::OPEN_READWRITE)
      .exec("UPDATE experiment SET name = 'x' WHERE id = 1");
  reopen();
  Upkeep upkeep(*store_);
  ASSERT_TRUE(looks(upkeep, {.experiments_days = 1}, end_ + 2 * day_ns));
  steps(upkeep);
  EXPECT_EQ(store_->experiment(other).value(), std::nullopt);
  EXPECT_FALSE(store_->experiment(experiment_));  // refused, and still there
}

}  // namespace
}  // namespace stab::upkeep
