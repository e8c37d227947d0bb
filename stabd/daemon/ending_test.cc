// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "stabd/daemon/clock_testing.h"
#include "stabd/daemon/service.h"

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;

class EndingTest : public testing::Test, protected Ending::Steps {
 protected:
  std::optional<std::chrono::nanoseconds> begin_to_stop() override {
    ++begun_;
    return trial_;
  }
  bool stop_worker() override {
    if (worker_) ++stopped_;
    return worker_;
  }
  [[nodiscard]] bool owes_notices() const override { return owed_; }
  [[nodiscard]] bool owes_allocations() const override { return allocations_; }
  void wait_to_leave() override { ++waits_; }
  void stop_loop() override { over_ = true; }

  std::optional<std::chrono::nanoseconds> trial_;  // how long the running trial is waited for
  bool worker_ = false;
  bool owed_ = false;
  bool allocations_ = false;
  int begun_ = 0;
  int stopped_ = 0;
  int waits_ = 0;
  bool over_ = false;
  ClockOfTest clock_;
  Ending ending_{clock_, *this};
};

TEST_F(EndingTest, AnIdleDaemonEndsAtOnce) {
  EXPECT_FALSE(ending_.has_begun());
  ending_.stop();
  EXPECT_TRUE(ending_.has_begun());
  EXPECT_TRUE(over_);
}

TEST_F(EndingTest, TheWorkerEndsFirst) {
  worker_ = true;
  ending_.stop();
  EXPECT_EQ(stopped_, 1);
  EXPECT_FALSE(over_);
  ending_.leave();
  EXPECT_TRUE(over_);
}

TEST_F(EndingTest, ATrialIsWaitedForUntilItsTimeIsUp) {
  worker_ = true;
  trial_ = 30s;
  ending_.stop();
  clock_.pass(29'999ms);
  EXPECT_FALSE(ending_.abandons_trial());
  clock_.pass(1ms);
  EXPECT_TRUE(ending_.abandons_trial());
  EXPECT_EQ(stopped_, 1);
}

TEST_F(EndingTest, ASecondSignalDoesNotWaitForTheTrial) {
  worker_ = true;
  trial_ = 30s;
  ending_.stop();
  ending_.stop();
  EXPECT_EQ(begun_, 1);
  EXPECT_EQ(stopped_, 1);
  ending_.stop();
  EXPECT_EQ(stopped_, 1) << "it is stopping already";
}

TEST_F(EndingTest, NoticesAreWaitedForATime) {
  owed_ = true;
  ending_.stop();
  EXPECT_TRUE(ending_.is_leaving());
  EXPECT_EQ(waits_, 1);
  ending_.leave();
  EXPECT_EQ(waits_, 1);
  clock_.pass(9'999ms);
  EXPECT_FALSE(over_);
  clock_.pass(1ms);
  EXPECT_TRUE(over_);
}

TEST_F(EndingTest, AllocationsAreWaitedForATime) {
  allocations_ = true;
  ending_.stop();
  EXPECT_TRUE(ending_.is_leaving());
  EXPECT_EQ(waits_, 1);
  clock_.pass(9'999ms);
  EXPECT_FALSE(over_);
  clock_.pass(1ms);
  EXPECT_TRUE(over_);
}

TEST_F(EndingTest, TheEndComesWhenNoticesAndAllocationsAreDone) {
  owed_ = allocations_ = true;
  ending_.stop();
  owed_ = false;
  ending_.leave();
  EXPECT_FALSE(over_);
  allocations_ = false;
  ending_.leave();
  EXPECT_TRUE(over_);
}

TEST_F(EndingTest, TheEndComesWithTheLastNotice) {
  owed_ = true;
  ending_.stop();
  owed_ = false;
  ending_.leave();
  EXPECT_TRUE(over_);
}

TEST_F(EndingTest, ASecondSignalDoesNotWaitForNotices) {
  owed_ = true;
  ending_.stop();
  ending_.stop();
  EXPECT_TRUE(over_);
}

TEST_F(EndingTest, ATrialThatEndsInTimeLeavesTheWholeTimeToNotices) {
  worker_ = owed_ = true;
  trial_ = 30s;
  ending_.stop();
  clock_.pass(29s);
  ending_.leave();
  clock_.pass(9'999ms);
  EXPECT_FALSE(over_);
  EXPECT_EQ(stopped_, 0);
  clock_.pass(1ms);
  EXPECT_TRUE(over_);
}

}  // namespace
}  // namespace stab::daemon
