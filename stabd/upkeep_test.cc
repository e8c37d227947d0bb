// SPDX-License-Identifier: MIT
#include "stabd/upkeep.h"

#include <gmock/gmock.h>

#include <functional>
#include <utility>
#include <vector>

#include "store/summaries.h"
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
  // Users 7 and `second` are one account, whose removals come first.
  void expect_turns(std::uint32_t second, Upkeep::AccountOf account_of) {
    std::vector<store::Id> ids{experiment_};
    for (const std::uint32_t uid : {7U, second, 8U}) {
      store::Experiment row = store::example_experiment();
      row.uid = uid;
      ids.push_back(store_->add_experiment(row).value());
    }
    Upkeep upkeep(*store_, std::move(account_of));
    for (const store::Id id : ids) {
      for (std::uint32_t position = 0; position < 120; ++position) {
        store::Trial trial = store::example_trial(experiment_, position);
        trial.experiment = id;
        add(trial);
      }
      ASSERT_TRUE(upkeep.remove(*store_->experiment(id).value(), "by user 7"));
    }
    const auto left = [this](store::Id id) { return store_->content(id)->trials; };
    // One piece of each account's first, whoever came first; the second removal of users 7 and
    // `second` waits for the first.
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(upkeep.step());
    EXPECT_LT(left(ids[0]), 120U);
    EXPECT_LT(left(ids[1]), 120U);
    EXPECT_EQ(left(ids[2]), 120U);
    EXPECT_LT(left(ids[3]), 120U);
    steps(upkeep);
    for (const store::Id id : ids) EXPECT_EQ(left(id), 0U);
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
  expect_turns(7, std::identity());
}

TEST_F(UpkeepTest, UsersOfOneAccountTakeTurnsTogether) {
  expect_turns(70, [](std::uint32_t uid) { return uid == 70 ? 7 : uid; });
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

class RetryTest : public store::WithStore {
 protected:
  RetryTest() {
    before_ = *store_->experiment(experiment_).value();
    before_.state = "done";
    EXPECT_TRUE(store_->update_experiment(before_));
    after_ = before_;
    after_.state = "queued";
    after_.ended_ns = 0;
    after_.reason.clear();
  }
  // Every third one succeeded.
  void fill(std::uint32_t trials) {
    std::vector<store::Trial> rows;
    for (std::uint32_t position = 0; position < trials; ++position) {
      rows.push_back(store::example_trial(experiment_, position));
      if (position % 3 == 0) rows.back().status = store::TrialStatus::ok;
    }
    ASSERT_TRUE(store_->add_trials(rows));
  }
  int steps(Retry& retry) {
    for (int made = 1;; ++made) {
      const auto more = retry.step(*store_);
      EXPECT_TRUE(more) << (more ? "" : more.error().message);
      if (!more || !*more) return made;
    }
  }
  std::size_t standing(bool ok) {
    std::size_t count = 0;
    for (const store::Trial& trial : store::trials_of(*store_, experiment_))
      if (trial.last && (trial.status == store::TrialStatus::ok) == ok) ++count;
    return count;
  }
  store::Experiment row() { return *store_->experiment(experiment_).value(); }

  store::Experiment before_;
  store::Experiment after_;
};

TEST_F(RetryTest, OpensWhatFailedInPiecesAndNothingElse) {
  fill(300);
  Retry retry(before_, after_, false);
  // Of at most 50 that failed; the row twice.
  EXPECT_GE(steps(retry), 2 * (200 / 50) + 2);
  EXPECT_EQ(retry.open(), 200U);
  EXPECT_TRUE(retry.goes_on());
  EXPECT_EQ(standing(false), 0U);
  EXPECT_EQ(standing(true), 100U);
  EXPECT_EQ(row(), after_);
  EXPECT_TRUE(store_->verify()->empty());
}

TEST_F(RetryTest, OfManyThatSucceededAPieceIsBoundedToo) {
  const std::uint32_t count = 3 * store::piece_of_retry / 2;
  std::vector<store::Trial> trials;
  for (std::uint32_t position = 0; position < count; ++position) {
    trials.push_back(store::example_trial(experiment_, position));
    trials.back().status =
        position == count - 1 ? store::TrialStatus::timeout : store::TrialStatus::ok;
  }
  ASSERT_TRUE(store_->add_trials(trials));
  const auto first = store_->failed(experiment_, {});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->count, 0U);
  ASSERT_TRUE(first->next);
  EXPECT_EQ(first->next->position, store::piece_of_retry - 1);
  Retry retry(before_, after_, false);
  steps(retry);
  EXPECT_EQ(retry.open(), 1U);
}

TEST_F(RetryTest, WithNothingToOpenNothingChangesUnlessItIsToGoOnAnyway) {
  for (std::uint32_t position = 0; position < 3; ++position) {
    store::Trial trial = store::example_trial(experiment_, position);
    trial.status = position == 1 ? store::TrialStatus::disturbed : store::TrialStatus::ok;
    add(trial);
  }
  Retry retry(before_, after_, false);
  steps(retry);
  EXPECT_FALSE(retry.goes_on());
  EXPECT_EQ(row(), before_);
  Retry anyway(before_, after_, true);
  steps(anyway);
  EXPECT_TRUE(anyway.goes_on());
  EXPECT_EQ(anyway.open(), 0U);
  EXPECT_EQ(row(), after_);
}

TEST_F(RetryTest, ADamagedTrialLeavesEverythingAsItWas) {
  fill(300);
  store::cheat(path_, "UPDATE trial SET wall_ns = 1 WHERE position = 299");
  Retry retry(before_, after_, false);
  store::Outcome<bool> more = true;
  while (more && *more) more = retry.step(*store_);
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message, HasSubstr("row 300 of table trial is damaged"));
  EXPECT_EQ(row(), before_);
  store::cheat(path_, "DELETE FROM trial WHERE position = 299");
  EXPECT_EQ(standing(false), 199U);
}

// Wherever a process ends: nothing has changed, or the next one ends it.
TEST_F(RetryTest, OneThatWasCutShortHasNotBegunOrIsEnded) {
  fill(300);
  bool begun = false;
  for (int cut = 1;; ++cut) {
    Retry first(before_, after_, false);
    bool more = true;
    for (int i = 0; i < cut && more; ++i) more = first.step(*store_).value();
    reopen();
    const store::Summary* const found = (*store_->summaries())->find(experiment_);
    ASSERT_NE(found, nullptr);
    if (found->experiment.state == before_.state) {
      EXPECT_FALSE(begun);
      EXPECT_EQ(row(), before_);
      EXPECT_EQ(standing(false), 200U);
      continue;
    }
    begun = true;
    if (more) {
      EXPECT_EQ(found->experiment.state, store::being_retried);
      Retry next(after_);
      steps(next);
    }
    EXPECT_EQ(standing(false), 0U) << "cut after " << cut;
    EXPECT_EQ(standing(true), 100U);
    EXPECT_EQ(row(), after_);
    if (!more) break;
    // As it was, for the next cut.
    ASSERT_TRUE(store_->update_experiment(before_));
    store_.reset();
    store::Connection connection(path_);
    connection.transaction([&] {
      std::vector<store::Stored> rows;
      connection.select("trial", "WHERE last = 0", {}, [&rows](const store::Stored& stored) {
        rows.push_back(stored);
        return true;
      });
      for (store::Stored& each : rows) {
        each.row.set("last", std::int64_t{1});
        connection.update("trial", each.id, each.row);
      }
    });
    store_ = store::open_or_fail(path_);
  }
  EXPECT_TRUE(begun);
}

TEST_F(RetryTest, WhatIsRemovedMeanwhileStaysRemoved) {
  fill(10);
  Retry retry(before_, after_, false);
  ASSERT_TRUE(retry.step(*store_).value());
  ASSERT_TRUE(store_->begin_removal(experiment_, "somebody removed it"));
  const auto more = retry.step(*store_);
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message, HasSubstr("the experiment has changed meanwhile"));
  EXPECT_EQ(store_->experiment(experiment_).value(), std::nullopt);
}

}  // namespace
}  // namespace stab::upkeep
