// SPDX-License-Identifier: MIT
// What the copy and the answer say of an experiment that lost some of its rows.
#include <memory>
#include <string>
#include <vector>

#include "store/recover.h"
#include "store/recover_testing.h"

namespace stab::store {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
namespace fs = std::filesystem;

TEST_F(RecoverTest, ATrialThatIsDamagedIsLostAndItsExperimentCanBeRetried) {
  cheat(path_, "UPDATE trial SET wall_ns = 1 WHERE id = 70");
  const Recovered found = recovered();
  EXPECT_EQ(table(found, "trial").lost, 1U);
  ASSERT_THAT(found.experiments, SizeIs(1));
  EXPECT_EQ(found.experiments[0].id, 2);
  EXPECT_THAT(found.experiments[0].problem, HasSubstr("trials are lost"));
  const auto store = open_or_fail(copy_);
  const auto second = store->experiment(2).value().value();
  EXPECT_EQ(second.state, "failed");
  EXPECT_THAT(second.reason, HasSubstr("'stabctl retry 2'"));
  EXPECT_EQ(store->experiment(1).value()->state, "done");
}

TEST_F(RecoverTest, WithAReadingItsTrialIsLost) {
  cheat(path_, "UPDATE trial SET reading_list = replace(reading_list, '0', '1') WHERE id = 1");
  const Recovered found = recovered();
  EXPECT_EQ(table(found, "trial").lost, 1U);
  EXPECT_EQ(kept_trials_, 2 * per_experiment - 1);
}

TEST_F(RecoverTest, WithAnExperimentItsTrialsAreLostAndItIsNamed) {
  cheat(path_, "UPDATE experiment SET plan = '' WHERE id = 1");
  const Recovered found = recovered();
  EXPECT_EQ(table(found, "experiment").lost, 1U);
  EXPECT_EQ(kept_trials_, per_experiment);
  EXPECT_THAT(found.experiments, Contains(Field(&Recovered::Experiment::problem, "it is lost")));
  const auto store = open_or_fail(copy_);
  const auto calibrations = store->calibrations(1).value();
  ASSERT_THAT(calibrations, SizeIs(2));
  EXPECT_EQ(calibrations[0].experiment, 0);
}

TEST_F(RecoverTest, WithoutItsMachineAnExperimentIsKept) {
  cheat(path_, "UPDATE machine SET facts = ''");
  const Recovered found = recovered();
  EXPECT_EQ(kept_trials_, 2 * per_experiment);
  ASSERT_THAT(found.experiments, SizeIs(3));
  EXPECT_THAT(found.experiments[0].problem, HasSubstr("machine"));
  EXPECT_EQ(table(found, "calibration").kept, 0U);
}

// After a lost attempt the next one must not get the number of one that is there.
TEST_F(RecoverTest, APositionThatLostAnAttemptCanBeMeasuredAgain) {
  {
    const auto store = open_or_fail(path_);
    for (std::uint32_t attempt = 0; attempt < 3; ++attempt) {
      Trial trial = example_trial(3, 0, attempt);
      trial.last = false;
      ASSERT_TRUE(store->add_trial(trial));
    }
  }
  cheat(path_, "UPDATE trial SET wall_ns = 1 WHERE experiment = 3 AND attempt = 1");
  fs::remove(copy_);
  ASSERT_TRUE(recover(path_, copy_));
  const auto store = open_or_fail(copy_);
  const auto progress = store->progress(3).value();
  ASSERT_THAT(progress, SizeIs(1));
  EXPECT_EQ(progress[0].attempts, 1U);
  EXPECT_TRUE(store->add_trial(example_trial(3, 0, progress[0].attempts)));
}

// What the copy says of experiments: ("done", "") where all is there.
class RecoverTrialsTest : public RecoverTest {
 protected:
  // Of these rows of table trial no page says anything any more, and no tree leads to the others.
  void recover_without(const std::string& which) {
    cheat(path_, "PRAGMA secure_delete = ON; DELETE FROM trial WHERE " + which);
    destroy_root_of("trial");
    found_ = recover(path_, copy_).value();
    store_ = open_or_fail(copy_);
    EXPECT_THAT(store_->verify().value(), IsEmpty());
  }
  // Where the trials end that there are.
  void end_by_a_rule(const std::vector<Id>& experiments) {
    const auto store = open_or_fail(path_);
    for (const Id id : experiments) {
      Experiment stopped = store->experiment(id).value().value();
      stopped.reason = "stopped after 5 of 10 blocks: it is known";
      stopped.trials = std::uint64_t{2} * per_experiment;
      ASSERT_TRUE(store->update_experiment(stopped));
    }
  }
  std::string state(Id id) { return store_->experiment(id).value()->state; }
  std::string problem(Id id) {
    for (const auto& each : found_.experiments)
      if (each.id == id) return each.problem;
    return "";
  }

  Recovered found_;
  std::unique_ptr<Store> store_;
};

TEST_F(RecoverTrialsTest, WithoutItsLastTrialsAnExperimentHasFailed) {
  recover_without("experiment = 2 AND position > 50");
  EXPECT_EQ(state(1), "done");
  EXPECT_EQ(problem(1), "");
  EXPECT_EQ(state(2), "failed");
  EXPECT_THAT(problem(2), HasSubstr("trials are lost"));
}

TEST_F(RecoverTrialsTest, WithoutAnyOfItsTrialsAnExperimentHasFailedAndItsNeighboursAreDone) {
  recover_without("experiment = 1");
  EXPECT_EQ(state(1), "failed");
  EXPECT_THAT(problem(1), HasSubstr("trials are lost"));
  EXPECT_EQ(state(2), "done");
  EXPECT_EQ(problem(2), "");
}

TEST_F(RecoverTrialsTest, WithoutAnEarlierAttemptThePositionIsLost) {
  {
    const auto store = open_or_fail(path_);
    Experiment third = store->experiment(3).value().value();
    third.state = "done";
    third.trials = 2;
    ASSERT_TRUE(store->update_experiment(third));
    Trial first = example_trial(3, 0);
    first.last = false;
    ASSERT_TRUE(store->add_trial(first));
    ASSERT_TRUE(store->add_trial(example_trial(3, 0, 1)));
    ASSERT_TRUE(store->add_trial(example_trial(3, 1)));
  }
  recover_without("experiment = 3 AND position = 0 AND attempt = 0");
  EXPECT_EQ(state(3), "failed");
  const auto trials = trials_of(*store_, 3);
  ASSERT_THAT(trials, SizeIs(1));
  EXPECT_EQ(trials[0].position, 1U);
}

TEST_F(RecoverTrialsTest, ADamagedTrialSaysWhoseItIs) {
  end_by_a_rule({1, 2});
  // The first of the second, and then the last of it.
  for (const int position : {0, 59}) {
    cheat(path_, "UPDATE trial SET wall_ns = 1 WHERE experiment = 2 AND position = " +
                     std::to_string(position));
    const Recovered found = recovered();
    ASSERT_THAT(found.experiments, SizeIs(1));
    EXPECT_EQ(found.experiments[0].id, 2);
    EXPECT_THAT(found.experiments[0].problem, HasSubstr("trials are lost"));
    EXPECT_EQ(open_or_fail(copy_)->experiment(1).value()->state, "done");
    EXPECT_EQ(open_or_fail(copy_)->experiment(2).value()->state, "failed");
  }
}

// Where nothing can be read of what came next, a stopping rule may have ended it there, or not.
TEST_F(RecoverTrialsTest, BehindTheLastOfAStoppedOneItCannotBeTold) {
  end_by_a_rule({1});
  recover_without("experiment = 2 AND position < 3");
  EXPECT_EQ(state(1), "done");
  EXPECT_THAT(problem(1),
              HasSubstr("trials after the experiment's last readable trial may be lost"));
  EXPECT_EQ(state(2), "failed");
}

// After a removal a gap between ids says nothing, so it doesn't rule out a loss either.
TEST_F(RecoverTrialsTest, BehindTheLastOfAStoppedOneItCannotBeToldAfterARemovalEither) {
  end_by_a_rule({1});
  {
    const auto store = open_or_fail(path_);
    ASSERT_TRUE(store->begin_removal(3, "somebody removed it"));
    while (store->go_on_with_removal(3).value()) {
    }
  }
  recover_without("experiment = 2 AND position < 3");
  EXPECT_EQ(table(found_, "trial").lost, 0U);
  EXPECT_TRUE(table(found_, "trial").more);
  EXPECT_EQ(state(1), "done");
  EXPECT_THAT(problem(1),
              HasSubstr("trials after the experiment's last readable trial may be lost"));
  EXPECT_EQ(state(2), "failed");
}

}  // namespace
}  // namespace stab::store
