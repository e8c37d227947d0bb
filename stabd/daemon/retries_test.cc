// SPDX-License-Identifier: MIT
#include "stabd/daemon/retries.h"

#include <gmock/gmock.h>

#include "protocol/messages.h"
#include "stabd/daemon/asker_testing.h"
#include "stabd/daemon/clock_testing.h"
#include "store/test_support.h"

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class RetriesTest : public testing::Test {
 protected:
  static constexpr std::uint32_t owner = 7;
  static constexpr std::uint32_t ada = 1000;
  static constexpr std::uint32_t bob = 1001;

  RetriesTest() {
    const store::Remembering opened;
    store_ = store::open_or_fail(directory_ / "stab.db");
    use_store();
  }
  void use_store() {
    retries_.emplace(clock_, *store_, queue_, accounts_, [this] { ++queued_; });
  }
  // An experiment of this user that is done, whose trials have failed but for the first one.
  store::Experiment add(std::uint32_t uid, std::uint32_t trials) {
    store::Experiment row{.name = "e",
                          .plan = "p",
                          .directory = "/",
                          .uid = uid,
                          .state = "done",
                          .submitted_ns = 1,
                          .started_ns = 2,
                          .ended_ns = 3,
                          .trials = trials};
    row.id = store_->add_experiment(row).value();
    for (std::uint32_t position = 0; position < trials; ++position) {
      store::Trial trial = store::example_trial(row.id, position);
      if (position == 0) trial.status = store::TrialStatus::ok;
      EXPECT_TRUE(store_->add_trial(trial));
    }
    return row;
  }
  Result<void> begin(AskerOfTest& client, const store::Experiment& row) {
    return retries_->begin(client, row.uid, row);
  }
  store::Experiment stored(store::Id id) { return store_->experiment(id).value().value(); }
  static void refuse_writing(bool refused) {
    store::Remembering::inside(refused ? "PRAGMA query_only = ON" : "PRAGMA query_only = OFF");
  }

  store::TemporaryDirectory directory_;
  std::unique_ptr<store::Store> store_;
  ClockOfTest clock_;
  Queue queue_{owner, settings::standard().limits};
  Accounts accounts_{"1000:100000:100", owner, [](const std::string&) { return std::nullopt; }};
  int queued_ = 0;
  std::optional<Retries> retries_;
  AskerOfTest client_;
};

TEST_F(RetriesTest, TheExperimentWaitsInTheQueueBeforeItsClientIsAnswered) {
  const auto row = add(ada, 5);
  client_.when_answered = [&] {
    EXPECT_NE(queue_.find(row.id), nullptr);
    EXPECT_EQ(queued_, 0);
  };
  ASSERT_TRUE(begin(client_, row));
  EXPECT_TRUE(client_.awaits);
  EXPECT_TRUE(retries_->is_retried(row.id));
  clock_.pass(1s);
  const auto reply = protocol::decode_reply<protocol::RetryReply>(client_.got);
  ASSERT_TRUE(reply) << client_.got;
  EXPECT_EQ(reply->trials, 4U);
  EXPECT_EQ(queued_, 1);
  EXPECT_FALSE(retries_->is_retried(row.id));
  EXPECT_EQ(stored(row.id).state, "queued");
  EXPECT_EQ(clock_.running(), 0U);
}

TEST_F(RetriesTest, WithoutAFailedTrialNothingChanges) {
  const auto row = add(ada, 1);
  ASSERT_TRUE(begin(client_, row));
  clock_.pass(1s);
  EXPECT_THAT(client_.got, HasSubstr("all trials of experiment 1 succeeded"));
  EXPECT_EQ(queue_.find(row.id), nullptr);
  EXPECT_EQ(queued_, 0);
  EXPECT_EQ(stored(row.id).state, "done");
}

TEST_F(RetriesTest, AClientThatHangsUpDoesNotEndItsRetry) {
  const auto row = add(ada, 5);
  ASSERT_TRUE(begin(client_, row));
  client_.go();
  clock_.pass(1s);
  EXPECT_EQ(client_.got, "");
  EXPECT_EQ(queued_, 1);
  EXPECT_NE(queue_.find(row.id), nullptr);
}

TEST_F(RetriesTest, AUserHasOneAtATime) {
  const auto one = add(ada, 2);
  const auto other = add(ada, 2);
  const auto of_bob = add(bob, 2);
  ASSERT_TRUE(begin(client_, one));
  AskerOfTest second;
  EXPECT_THAT(begin(second, one).error().message, HasSubstr("is already being retried"));
  EXPECT_THAT(begin(second, other).error().message, HasSubstr("another of your retries"));
  EXPECT_FALSE(second.awaits);
  EXPECT_TRUE(begin(second, of_bob));
  AskerOfTest third;
  EXPECT_TRUE(retries_->begin(third, owner, other)) << "the daemon's own user may have many";
  clock_.pass(1s);
  EXPECT_EQ(queued_, 3);
}

// Their owner has one at a time, however many ids she has.
TEST_F(RetriesTest, SubordinateIdsShareTheOneRetryOfTheirOwner) {
  ASSERT_TRUE(begin(client_, add(100'000, 2)));
  AskerOfTest second;
  for (const std::uint32_t uid : {ada, 100'001U})
    EXPECT_THAT(begin(second, add(uid, 2)).error().message, HasSubstr("another of your retries"));
  EXPECT_TRUE(begin(second, add(bob, 2)));
  clock_.pass(1s);
  EXPECT_EQ(queued_, 2);
}

TEST_F(RetriesTest, OnlyAnEndedExperimentThatNobodyHoldsIsRetried) {
  auto row = add(ada, 2);
  row.state = "running";
  EXPECT_EQ(begin(client_, row).error().message, has_not_ended(row.id));
  row.state = "done";
  row.held_by = 0;
  EXPECT_THAT(begin(client_, row).error().message,
              HasSubstr("only root can retry this experiment"));
  EXPECT_TRUE(retries_->begin(client_, 0, row));
}

TEST_F(RetriesTest, OneThatHasBegunContinuesAfterTroubleWithTheDisk) {
  const auto row = add(ada, 200);
  ASSERT_TRUE(begin(client_, row));
  while (stored(row.id).state == "done") clock_.pass(1ms);
  refuse_writing(true);
  clock_.pass(100ms);
  EXPECT_THAT(client_.got, HasSubstr("has begun, but its trials cannot be stored now"));
  EXPECT_TRUE(retries_->is_retried(row.id));
  refuse_writing(false);
  clock_.pass(1800ms);
  EXPECT_EQ(queued_, 0) << "it tries again after two seconds";
  clock_.pass(2s);
  EXPECT_EQ(queued_, 1);
}

TEST_F(RetriesTest, TheNextDaemonEndsOneThatHasBegun) {
  const auto row = add(ada, 200);
  ASSERT_TRUE(begin(client_, row));
  while (stored(row.id).state == "done") clock_.pass(1ms);
  retries_->stop();
  clock_.pass(1h);
  EXPECT_EQ(queued_, 0);
  EXPECT_EQ(clock_.running(), 0U);
  use_store();
  retries_->load(row.id);
  clock_.pass(1h);
  EXPECT_EQ(queued_, 0) << "it waits for start()";
  retries_->start();
  clock_.pass(1s);
  EXPECT_EQ(queued_, 1);
  EXPECT_NE(queue_.find(row.id), nullptr);
  EXPECT_EQ(stored(row.id).state, "queued");
}

}  // namespace
}  // namespace stab::daemon
