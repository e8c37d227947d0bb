// SPDX-License-Identifier: MIT
#include "store/summaries.h"

#include <gmock/gmock.h>

#include <utility>

#include "store/test_support.h"

namespace stab::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;

class SummariesTest : public WithStore {
 protected:
  const Summaries& summaries() { return **store_->summaries(); }
  // They say what the rows say, of all that is intact and in the same order.
  void expect_what_is_stored() {
    auto rows = store_->experiments().value().intact;
    ASSERT_EQ(summaries().intact().size(), rows.size());
    auto summary = summaries().intact().begin();
    for (Experiment& row : rows) {
      EXPECT_EQ(summary->first, row.id);
      EXPECT_EQ(summary->second.plan_bytes, row.plan.size());
      row.plan.clear();
      EXPECT_EQ(summary->second.experiment, row);
      ++summary;
    }
  }
};

TEST_F(SummariesTest, SayWhatIsStoredWithoutThePlans) {
  expect_what_is_stored();
  Experiment other = example_experiment();
  other.plan = std::string(1'000'000, '#');
  other.state = "queued";
  other.id = store_->add_experiment(other).value();
  expect_what_is_stored();
  EXPECT_EQ(summaries().find(other.id)->plan_bytes, 1'000'000U);
  other.state = "cancelled";
  other.reason = "nobody wants it";
  ASSERT_TRUE(store_->update_experiment(other));
  expect_what_is_stored();
  reopen();
  expect_what_is_stored();
  EXPECT_EQ(summaries().find(other.id)->experiment.reason, "nobody wants it");
  EXPECT_EQ(summaries().find(77), nullptr);
}

TEST_F(SummariesTest, OfWhatIsBeingRemovedNothingIsSaid) {
  Experiment entering = example_experiment();
  const std::string state = std::exchange(entering.state, being_removed);
  ASSERT_TRUE(store_->begin_removal(experiment_, "somebody removed it"));
  EXPECT_THAT(summaries().intact(), IsEmpty());
  entering.id = store_->add_experiment(entering).value();
  EXPECT_THAT(summaries().intact(), IsEmpty());
  entering.state = state;
  ASSERT_TRUE(store_->update_experiment(entering));
  EXPECT_THAT(summaries().intact(), ElementsAre(Key(entering.id)));
  ASSERT_TRUE(store_->begin_removal(entering.id, "somebody removed it"));
  EXPECT_THAT(summaries().intact(), IsEmpty());
}

TEST_F(SummariesTest, WhatCouldNotBeStoredIsNotSaid) {
  ASSERT_TRUE(store_->summaries());
  Experiment unknown = example_experiment();
  unknown.id = 77;
  EXPECT_FALSE(store_->update_experiment(unknown));
  store_->refuse_changes("it is damaged");
  Experiment changed = store_->experiment(experiment_)->value();
  changed.name = "another";
  EXPECT_FALSE(store_->update_experiment(changed));
  EXPECT_FALSE(store_->begin_removal(experiment_, "somebody removed it"));
  expect_what_is_stored();
}

TEST_F(SummariesTest, ADamagedRowIsNamedAndHidesNoOther) {
  const Id other = store_->add_experiment(example_experiment()).value();
  cheat(path_, "UPDATE experiment SET plan = '' WHERE id = 1");
  EXPECT_THAT(summaries().intact(), ElementsAre(Key(other)));
  ASSERT_THAT(summaries().damaged(), ElementsAre(Key(experiment_)));
  const Damage& damage = summaries().damaged().at(experiment_);
  EXPECT_EQ(damage.table, "experiment");
  EXPECT_EQ(damage.row, experiment_);
  // Written anew it is whole.
  Experiment whole = example_experiment();
  whole.id = experiment_;
  ASSERT_TRUE(store_->update_experiment(whole));
  EXPECT_THAT(summaries().damaged(), IsEmpty());
  expect_what_is_stored();
}

}  // namespace
}  // namespace stab::store
