// SPDX-License-Identifier: MIT
#include "stabd/daemon/queue.h"

#include <gmock/gmock.h>

#include <chrono>
#include <vector>

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint32_t owner = 7;
constexpr std::uint32_t ada = 1000;
constexpr std::uint32_t bob = 1001;

class QueueTest : public testing::Test {
 protected:
  void add(store::Id id, std::uint32_t uid, std::int64_t priority = 0) {
    queue_.add({.id = id, .uid = uid, .priority = priority});
  }
  // The order in which they really begin, each user's turn counted.
  std::vector<store::Id> run_all() {
    std::vector<store::Id> ran;
    for (std::int64_t now = 1'000; const auto each = queue_.take(); ++now) {
      ran.push_back(each->id);
      queue_.had_turn(each->uid, now);
    }
    return ran;
  }

  settings::Limits limits_ = settings::standard().limits;
  Queue queue_{owner, limits_};
};

TEST_F(QueueTest, OneUsersComeAsTheyWereSubmitted) {
  for (const store::Id id : {3, 1, 2}) add(id, ada);
  EXPECT_THAT(run_all(), ElementsAre(1, 2, 3));
  EXPECT_FALSE(queue_.take());
}

TEST_F(QueueTest, UsersTakeTurnsHoweverManyOneHas) {
  for (store::Id id = 1; id <= 4; ++id) add(id, ada);
  add(5, bob);
  add(6, bob);
  EXPECT_THAT(queue_.order(), ElementsAre(1, 5, 2, 6, 3, 4));
  EXPECT_THAT(run_all(), ElementsAre(1, 5, 2, 6, 3, 4));
}

TEST_F(QueueTest, UsersHaveTheMachineForTheSameTimeHoweverManyExperimentsThatTakes) {
  for (store::Id id = 1; id <= 3; ++id) add(id, ada);
  for (store::Id id = 11; id <= 20; ++id) add(id, bob);
  std::vector<store::Id> ran;
  while (const auto each = queue_.take()) {
    ran.push_back(each->id);
    queue_.charge(each->uid == ada ? 30min : 10min);
    queue_.end_turn();
  }
  EXPECT_THAT(ran, ElementsAre(1, 11, 12, 13, 2, 14, 15, 16, 3, 17, 18, 19, 20));
}

TEST_F(QueueTest, NobodySavesUpTimeWhileTheyHaveNothing) {
  add(1, ada);
  ASSERT_TRUE(queue_.take());
  queue_.charge(10h);
  add(2, bob);  // comes for the first time
  EXPECT_TRUE(queue_.another_user_waits());
  EXPECT_FALSE(queue_.another_user_is_next()) << "bob has had nothing, but has not waited either";
  queue_.charge(1s);
  EXPECT_TRUE(queue_.another_user_is_next());
  queue_.end_turn();
  add(1, ada);
  ASSERT_EQ(queue_.take()->id, 2);
  queue_.charge(2s);
  EXPECT_TRUE(queue_.another_user_is_next()) << "and does not get ten hours now";
}

TEST_F(QueueTest, NobodyWhoWaitsBehindEndsATurn) {
  add(1, ada);
  ASSERT_TRUE(queue_.take());
  queue_.charge(1h);
  add(2, ada);
  EXPECT_FALSE(queue_.another_user_waits());
  add(3, bob, -1);
  EXPECT_TRUE(queue_.another_user_waits());
  queue_.add({.id = 4, .uid = bob, .held = true});
  queue_.charge(1h);
  EXPECT_FALSE(queue_.another_user_is_next()) << "a lower priority, and one that is held";
  add(5, bob);
  queue_.charge(1h);
  EXPECT_TRUE(queue_.another_user_is_next());
}

TEST_F(QueueTest, WhoHadTheLastTurnWaits) {
  queue_.had_turn(ada, 900);
  queue_.had_turn(bob, 300);
  queue_.had_turn(ada, 100);  // an older one tells nothing new
  add(1, ada);
  add(2, bob);
  EXPECT_THAT(run_all(), ElementsAre(2, 1));
}

TEST_F(QueueTest, PriorityGoesBeforeTurnsAndWhatHasBegunBeforeWhatHasNot) {
  add(1, ada);
  add(2, bob, 5);
  add(3, bob, -5);
  queue_.add({.id = 4, .uid = bob, .begun = true});
  EXPECT_THAT(queue_.order(), ElementsAre(2, 4, 1, 3));
  EXPECT_THAT(run_all(), ElementsAre(2, 4, 1, 3));
}

TEST_F(QueueTest, AHeldOneLetsAllOthersPass) {
  queue_.add({.id = 1, .uid = ada, .priority = 10, .held = true});
  add(2, ada);
  EXPECT_THAT(queue_.order(), ElementsAre(2, 1));
  EXPECT_EQ(queue_.take()->id, 2);
  EXPECT_FALSE(queue_.take());
  EXPECT_NE(queue_.find(1), nullptr);
}

TEST_F(QueueTest, NothingBeginsWhileTheWholeQueueIsHeld) {
  add(1, ada);
  queue_.hold(true);
  EXPECT_TRUE(queue_.is_held());
  EXPECT_FALSE(queue_.take());
  EXPECT_THAT(queue_.order(), ElementsAre(1));
  queue_.hold(false);
  EXPECT_TRUE(queue_.take());
  add(2, bob);
  queue_.charge(1h);
  EXPECT_TRUE(queue_.another_user_is_next());
  queue_.hold(true);
  EXPECT_FALSE(queue_.another_user_is_next());
  EXPECT_TRUE(queue_.another_user_waits());
}

TEST_F(QueueTest, AUserHasSoManyAndOthersStillGetIn) {
  for (store::Id id = 1; id <= static_cast<store::Id>(limits_.waiting_of_user); ++id) add(id, ada);
  EXPECT_THAT(queue_.has_room(ada, 1).error().message, HasSubstr("100 experiments"));
  EXPECT_TRUE(queue_.has_room(bob, 1));
  EXPECT_TRUE(queue_.remove(50));
  EXPECT_FALSE(queue_.remove(50));
  EXPECT_TRUE(queue_.has_room(ada, 1));
}

TEST_F(QueueTest, PlansOfAUserHaveABoundTogether) {
  queue_.add({.id = 1, .uid = ada, .plan_bytes = limits_.plan_bytes_of_user - 10});
  EXPECT_TRUE(queue_.has_room(ada, 10));
  EXPECT_THAT(queue_.has_room(ada, 11).error().message, HasSubstr("8 MiB"));
  EXPECT_TRUE(queue_.has_room(bob, 11));
}

TEST_F(QueueTest, RootAndTheOwnerAlwaysGetIn) {
  for (std::size_t i = 0; i < limits_.waiting; ++i)
    add(static_cast<store::Id>(i), ada + static_cast<std::uint32_t>(i));
  EXPECT_THAT(queue_.has_room(5, 1).error().message, HasSubstr("the queue is full"));
  EXPECT_TRUE(queue_.has_room(0, limits_.plan_bytes_of_user + 1));
  EXPECT_TRUE(queue_.has_room(owner, limits_.plan_bytes_of_user + 1));
}

}  // namespace
}  // namespace stab::daemon
