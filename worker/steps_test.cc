// SPDX-License-Identifier: MIT
// What a plan wants done before and after a trial.
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "worker/trial_testing.h"

namespace stab::worker {
namespace {

using namespace std::chrono_literals;
using store::TrialStatus;
using ::testing::HasSubstr;

class StepsTest : public TrialTest {
 protected:
  [[nodiscard]] protocol::RunRequest request(const std::string& script) const {
    protocol::RunRequest request = TrialTest::request(script);
    request.env = {{"WORD", "hello"}};
    request.prepare = "echo $WORD > state";
    request.cleanup = "mv state cleaned";
    return request;
  }
  [[nodiscard]] bool is_there(const std::string& name) const {
    return std::filesystem::exists(folder_ / name);
  }
};

TEST_F(StepsTest, TheTrialFindsWhatWasPreparedAndLeavesWhatIsCleanedUp) {
  protocol::RunRequest trial = request("cat state; echo more >> state");
  trial.check.command = "test \"$(cat)\" = hello";
  for (int i = 0; i < 2; ++i) {
    const protocol::RunReply reply = run_trial(trial, {});
    EXPECT_EQ(reply.status, TrialStatus::ok) << reply.reason;
    EXPECT_FALSE(is_there("state"));
    EXPECT_TRUE(is_there("cleaned"));
  }
}

TEST_F(StepsTest, TheirTimeIsNotTheTrials) {
  protocol::RunRequest trial = request("cat state");
  trial.prepare += "; sleep 1";
  trial.cleanup += "; sleep 1";
  const auto begin = std::chrono::steady_clock::now();
  const protocol::RunReply reply = run_trial(trial, {});
  const auto all = std::chrono::steady_clock::now() - begin;
  ASSERT_EQ(reply.status, TrialStatus::ok) << reply.reason;
  EXPECT_LE(std::chrono::nanoseconds(*reply.wall_ns), all - 2s);
}

TEST_F(StepsTest, WhatIsNotPreparedIsNotRun) {
  protocol::RunRequest trial = request("touch ran");
  trial.prepare = "touch state; echo no space >&2; exit 4";
  const protocol::RunReply reply = run_trial(trial, {});
  EXPECT_EQ(reply.status, TrialStatus::not_started);
  EXPECT_EQ(reply.reason, "the prepare command ended with exit code 4: no space");
  EXPECT_GT(reply.started_ns, 0);
  EXPECT_EQ(reply.wall_ns, std::nullopt);
  EXPECT_FALSE(is_there("ran"));
  EXPECT_TRUE(is_there("cleaned"));
}

TEST_F(StepsTest, WhatIsNotCleanedUpIsNoSuccess) {
  protocol::RunRequest trial = request("true");
  trial.cleanup = "exit 3";
  const protocol::RunReply reply = run_trial(trial, {});
  EXPECT_EQ(reply.status, TrialStatus::check_failed);
  EXPECT_THAT(reply.reason, HasSubstr("the cleanup command ended with exit code 3"));
}

TEST_F(StepsTest, ATrialThatFailsIsCleanedUpAndKeepsItsReason) {
  protocol::RunRequest trial = request("exit 7");
  trial.cleanup += "; exit 3";
  const protocol::RunReply reply = run_trial(trial, {});
  EXPECT_EQ(reply.status, TrialStatus::wrong_exit);
  EXPECT_THAT(reply.reason, HasSubstr("exit code 7"));
  EXPECT_TRUE(is_there("cleaned"));
}

TEST_F(StepsTest, ATrialThatIsStoppedIsCleanedUp) {
  std::array<int, 2> stop{};
  ASSERT_EQ(pipe(stop.data()), 0);
  close(stop[1]);
  TrialContext context;
  context.stop_fd = stop[0];
  protocol::RunRequest trial = request("sleep 1000");
  trial.prepare.clear();
  trial.cleanup = "sleep 0.2; touch cleaned";
  const protocol::RunReply reply = run_trial(trial, context);
  close(stop[0]);
  EXPECT_EQ(reply.status, TrialStatus::not_started);
  EXPECT_TRUE(is_there("cleaned"));
}

TEST_F(StepsTest, ATrialThatIsStoppedWhileItIsPreparedIsCleanedUp) {
  std::array<int, 2> stop{};
  ASSERT_EQ(pipe(stop.data()), 0);
  TrialContext context;
  context.stop_fd = stop[0];
  protocol::RunRequest trial = request("touch ran");
  trial.prepare = "touch state; sleep 1000";
  std::thread stopper([&] {
    while (!is_there("state")) std::this_thread::sleep_for(1ms);
    close(stop[1]);
  });
  const protocol::RunReply reply = run_trial(trial, context);
  stopper.join();
  close(stop[0]);
  EXPECT_EQ(reply.status, TrialStatus::not_started);
  EXPECT_FALSE(is_there("ran"));
  EXPECT_TRUE(is_there("cleaned"));
}

TEST_F(StepsTest, TheLastWordsOfAStepAreItsReason) {
  protocol::RunRequest trial = request("true");
  trial.prepare = "seq 1000; echo no room >&2; exit 1";
  const protocol::RunReply reply = run_trial(trial, {});
  EXPECT_EQ(reply.reason, "the prepare command ended with exit code 1: no room");
  EXPECT_THAT(reply.stderr_tail, HasSubstr("999\n1000\nno room\n"));
}

TEST_F(StepsTest, TheyEndWithTheTimeOfATrial) {
  protocol::RunRequest trial = request("true");
  trial.timeout = 1s;
  trial.prepare = "sleep 1000";
  const protocol::RunReply reply = run_trial(trial, {});
  EXPECT_EQ(reply.status, TrialStatus::not_started);
  EXPECT_THAT(reply.reason, HasSubstr("the prepare command did not end within its timeout of 1 s"));
}

TEST_F(StepsTest, WhatTheyLeaveRunningIsEndedWithThem) {
  protocol::RunRequest trial = request("kill -0 $(cat pid) && exit 9; cat state");
  trial.prepare = "sleep 1000 & echo $! > pid; touch state";
  const protocol::RunReply reply = run_trial(trial, {});
  EXPECT_EQ(reply.status, TrialStatus::ok) << reply.reason << reply.stderr_tail;
}

TEST_F(StepsTest, LimitsOfTheTrialAreNotTheirs) {
  protocol::RunRequest trial = request("wc -c < state");
  trial.file_limit = 1000;
  trial.prepare = "head -c 5000 /dev/zero > state";
  const protocol::RunReply reply = run_trial(trial, {});
  EXPECT_EQ(reply.status, TrialStatus::ok) << reply.reason;
  EXPECT_EQ(std::filesystem::file_size(folder_ / "cleaned"), 5000U);
}

}  // namespace
}  // namespace stab::worker
