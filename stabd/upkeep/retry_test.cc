// SPDX-License-Identifier: MIT
#include "stabd/upkeep/retry.h"

#include <gmock/gmock.h>

#include "store/summaries/summaries.h"
#include "store/test_support.h"

namespace stab::upkeep {
namespace {

using testing::HasSubstr;

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
  EXPECT_THAT(more.error().message, HasSubstr("it has changed meanwhile"));
  EXPECT_EQ(store_->experiment(experiment_).value(), std::nullopt);
}

}  // namespace
}  // namespace stab::upkeep
