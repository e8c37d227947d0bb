// SPDX-License-Identifier: MIT
#include "stabd/daemon/room_for_readers.h"

#include <gtest/gtest.h>

#include "stabd/daemon/clock_testing.h"

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;

class RoomForReadersTest : public testing::Test, protected ClientsReaders {
 protected:
  void allow(bool allowed) override {
    allowed_ = allowed;
    if (!allowed) hurried_ = false;
  }
  void hurry() override { hurried_ = true; }
  [[nodiscard]] bool wanted() const override { return wanted_; }
  [[nodiscard]] bool asked() const override { return wanted_ && asked_; }

  // A client asks for a report, or nobody does any more.
  void want(bool wanted) {
    wanted_ = wanted;
    room_.readers_changed();
  }
  bool let_run(bool within_block = false) {
    return room_.let_run([this] { ++went_on_; }, within_block);
  }

  bool wanted_ = false;
  bool asked_ = true;  // a client waits for the wanted reader
  bool allowed_ = true;
  bool hurried_ = false;
  int went_on_ = 0;
  int changes_ = 0;
  ClockOfTest clock_;
  RoomForReaders room_{clock_, *this, [this] { ++changes_; }};
};

TEST_F(RoomForReadersTest, ReadersRunAsLongAsTheyDisturbNoTrial) {
  want(true);
  EXPECT_TRUE(allowed_);
  room_.trials_run(true, false);
  EXPECT_TRUE(allowed_);
  EXPECT_FALSE(room_.let_run([] { FAIL(); }, false));
  clock_.pass(1h);
  EXPECT_FALSE(room_.readers_run_beside());
}

TEST_F(RoomForReadersTest, WithoutCpusOfTheirOwnTheyDisturbEachTrial) {
  room_.share_cpus(true);
  room_.trials_run(true, false);
  want(true);
  EXPECT_FALSE(allowed_);
  EXPECT_TRUE(let_run());
  EXPECT_TRUE(allowed_);
}

TEST_F(RoomForReadersTest, TheyWaitForABlockThenForATrialThenForNobody) {
  room_.trials_run(true, true);
  want(true);
  EXPECT_FALSE(allowed_);
  clock_.pass(2999ms);
  EXPECT_FALSE(room_.readers_are_due());
  EXPECT_FALSE(let_run(true)) << "a block is not interrupted yet";
  clock_.pass(1ms);
  EXPECT_TRUE(room_.readers_are_due());
  EXPECT_FALSE(allowed_);
  clock_.pass(3999ms);
  EXPECT_FALSE(room_.readers_run_beside());
  changes_ = 0;
  clock_.pass(1ms);
  EXPECT_TRUE(room_.readers_run_beside());
  EXPECT_TRUE(allowed_);
  EXPECT_TRUE(hurried_);
  EXPECT_GT(changes_, 0);
  want(false);
  EXPECT_FALSE(room_.readers_run_beside());
  EXPECT_FALSE(allowed_);
}

TEST_F(RoomForReadersTest, TrialsGoOnWhenTheReadersAreDone) {
  room_.trials_run(true, true);
  want(true);
  ASSERT_TRUE(let_run());
  EXPECT_TRUE(allowed_);
  clock_.pass(9s);
  EXPECT_EQ(went_on_, 0);
  want(false);
  EXPECT_EQ(went_on_, 1);
  EXPECT_FALSE(allowed_);
  clock_.pass(1h);
  EXPECT_EQ(went_on_, 1);
}

TEST_F(RoomForReadersTest, TrialsWaitTenSecondsAtMost) {
  room_.trials_run(true, true);
  want(true);
  ASSERT_TRUE(let_run());
  clock_.pass(9999ms);
  EXPECT_EQ(went_on_, 0);
  clock_.pass(1ms);
  EXPECT_EQ(went_on_, 1);
  EXPECT_FALSE(allowed_);
}

TEST_F(RoomForReadersTest, ReadersThatAreDueRunWithinABlock) {
  room_.trials_run(true, true);
  want(true);
  clock_.pass(3s);
  ASSERT_TRUE(let_run(true));
  EXPECT_TRUE(allowed_);
  EXPECT_FALSE(room_.readers_are_due()) << "they begin to wait anew";
}

TEST_F(RoomForReadersTest, WithoutAReaderTrialsDoNotWait) {
  room_.trials_run(true, true);
  EXPECT_FALSE(let_run());
}

TEST_F(RoomForReadersTest, AReaderThatNoClientWaitsForIsNeverDue) {
  asked_ = false;
  room_.trials_run(true, true);
  want(true);
  clock_.pass(1h);
  EXPECT_FALSE(room_.readers_are_due());
  EXPECT_FALSE(allowed_);
}

TEST_F(RoomForReadersTest, WhatIsForgottenDoesNotGoOn) {
  room_.trials_run(true, true);
  want(true);
  ASSERT_TRUE(let_run());
  room_.forget();
  clock_.pass(1h);
  EXPECT_EQ(went_on_, 0);
}

TEST_F(RoomForReadersTest, WhenTheTrialsEndReadersRunAtOnce) {
  room_.trials_run(true, true);
  want(true);
  EXPECT_FALSE(allowed_);
  room_.trials_run(false, false);
  EXPECT_TRUE(allowed_);
  EXPECT_EQ(clock_.running(), 0U);
}

}  // namespace
}  // namespace stab::daemon
