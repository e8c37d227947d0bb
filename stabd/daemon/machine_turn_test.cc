// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "stabd/daemon/clock_testing.h"
#include "stabd/daemon/queue.h"

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;

class MachineTurnTest : public testing::Test {
 protected:
  static constexpr std::uint32_t owner = 7;
  static constexpr std::uint32_t ada = 1000;
  static constexpr std::uint32_t bob = 1001;

  void add(store::Id id, std::uint32_t uid) { queue_.add({.id = id, .uid = uid}); }
  // The next experiment has the machine.
  store::Id begin() {
    const auto next = queue_.take().value();
    turn_.begin(next.id, next.uid);
    turn_.watch();
    return next.id;
  }

  settings::Limits limits_ = settings::standard().limits;
  ClockOfTest clock_;
  Queue queue_{owner, limits_};
  int cuts_ = 0;
  MachineTurn turn_{clock_, queue_, 10min, [this] { ++cuts_; }};
};

TEST_F(MachineTurnTest, IsOverOnceItIsLongEnoughAndAnotherUserWaits) {
  add(1, ada);
  begin();
  clock_.pass(1h);
  EXPECT_FALSE(turn_.is_over());
  add(2, ada);
  EXPECT_FALSE(turn_.is_over());
  add(3, bob);
  EXPECT_FALSE(turn_.is_over()) << "bob counts as having had the machine for as long";
  clock_.pass(1ms);
  EXPECT_TRUE(turn_.is_over());
}

TEST_F(MachineTurnTest, IsNotOverBeforeItsTime) {
  add(1, ada);
  begin();
  add(2, bob);
  clock_.pass(10min - 1ms);
  EXPECT_FALSE(turn_.is_over());
  clock_.pass(1ms);
  EXPECT_TRUE(turn_.is_over());
}

TEST_F(MachineTurnTest, IsNotOverWhileTheQueueIsPaused) {
  add(1, ada);
  begin();
  add(2, bob);
  queue_.hold(true);
  clock_.pass(1h);
  EXPECT_FALSE(turn_.is_over());
  queue_.hold(false);
  EXPECT_TRUE(turn_.is_over());
}

TEST_F(MachineTurnTest, IsCutShortAfterASecondTurn) {
  add(1, ada);
  add(2, bob);
  begin();
  clock_.pass(20min - 1ms);
  EXPECT_EQ(cuts_, 0);
  clock_.pass(1ms);
  EXPECT_EQ(cuts_, 1);
}

TEST_F(MachineTurnTest, AUserWhoComesLateWaitsForOneTurn) {
  add(1, ada);
  begin();
  clock_.pass(1h);
  add(2, bob);
  turn_.watch();
  clock_.pass(10min - 1ms);
  EXPECT_EQ(cuts_, 0);
  clock_.pass(1ms);
  EXPECT_EQ(cuts_, 1);
}

TEST_F(MachineTurnTest, ATrustedUserHasNoLimit) {
  EXPECT_EQ(turn_.longest_of(owner), 0ns);
  EXPECT_EQ(turn_.longest_of(0), 0ns);
  EXPECT_EQ(turn_.longest_of(ada), 10min);
  add(1, owner);
  begin();
  add(2, ada);
  turn_.watch();
  clock_.pass(24h);
  EXPECT_EQ(cuts_, 0);
}

TEST_F(MachineTurnTest, WithoutALimitNothingIsCut) {
  turn_.use_limit(0ns);
  add(1, ada);
  add(2, bob);
  begin();
  clock_.pass(24h);
  EXPECT_EQ(cuts_, 0);
  EXPECT_FALSE(turn_.is_over());
}

TEST_F(MachineTurnTest, AfterItsEndNothingIsCut) {
  add(1, ada);
  add(2, bob);
  begin();
  EXPECT_EQ(clock_.running(), 1U);
  turn_.end(std::nullopt);
  turn_.watch();
  EXPECT_EQ(clock_.running(), 0U);
}

TEST_F(MachineTurnTest, TheUserPaysForItsTime) {
  add(1, ada);
  add(2, bob);
  add(3, ada);
  add(4, bob);
  EXPECT_EQ(begin(), 1);
  clock_.pass(5min);
  turn_.end(std::nullopt);
  EXPECT_EQ(begin(), 2);
  clock_.pass(1min);
  turn_.end(std::nullopt);
  EXPECT_EQ(begin(), 4) << "bob has had the machine for a shorter time";
}

TEST_F(MachineTurnTest, AnAbandonedBlockIsKnownUntilATurnEndsWithoutOne) {
  add(1, ada);
  begin();
  turn_.end(BlockId(false, 3));
  EXPECT_EQ(turn_.abandoned_block(1), BlockId(false, 3));
  EXPECT_FALSE(turn_.abandoned_block(2));
  add(1, ada);
  begin();
  turn_.end(std::nullopt);
  EXPECT_FALSE(turn_.abandoned_block(1));
}

}  // namespace
}  // namespace stab::daemon
