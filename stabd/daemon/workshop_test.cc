// SPDX-License-Identifier: MIT
// Workers that are shell scripts, at a time that the test sets.
#include "stabd/daemon/workshop.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "stabd/daemon/clock_testing.h"
#include "stabd/daemon/loop.h"
#include "store/test_support.h"

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;

class WorkshopTest : public testing::Test, protected WorkerEvents {
 protected:
  void use_worker(const std::string& body) {
    ASSERT_TRUE(write_file_atomically(directory_ / "worker", "#!/bin/sh\n" + body));
    ASSERT_EQ(chmod((directory_ / "worker").c_str(), 0700), 0);
  }
  Result<void> start() { return workshop_.start(experiment_, false, true); }
  void worker_said(const std::string& line, std::size_t) override { said_.push_back(line); }
  void worker_silent(const std::string&, std::size_t) override { ++silent_; }
  void worker_ended(const std::string& how, std::size_t) override {
    EXPECT_FALSE(workshop_.has_worker());
    ended_.push_back(how);
  }
  // Whether the worker still runs when the loop has served what there is.
  [[nodiscard]] bool lives() {
    for (int i = 0; i < 10; ++i) uv_run(loop_->get(), UV_RUN_NOWAIT);
    return workshop_.has_worker();
  }
  void run_until_ended() {
    while (workshop_.has_worker()) uv_run(loop_->get(), UV_RUN_ONCE);
  }

  store::TemporaryDirectory directory_;
  std::unique_ptr<Loop> loop_ = Loop::open().value();
  store::Experiment experiment_{.id = 1, .uid = geteuid(), .gid = getegid()};
  std::vector<std::string> said_;
  int silent_ = 0;
  std::vector<std::string> ended_;
  ClockOfTest clock_;
  Workshop workshop_{clock_,
                     loop_->get(),
                     {.program = directory_ / "worker",
                      .state_directory = directory_ / "",
                      .database = directory_ / "stabd.db",
                      .cache_directory = directory_ / "some/cache",
                      .machine_logs = directory_ / "logs",
                      .machine_root = directory_ / "root",
                      .isolate = false,
                      .groups = false},
                     *this};
};

TEST_F(WorkshopTest, AWorkerThatEndsLeavesRoomForTheNext) {
  use_worker("exit 3\n");
  ASSERT_TRUE(workshop_.prepare());
  for (std::size_t i = 1; i <= 2; ++i) {
    ASSERT_TRUE(start());
    EXPECT_TRUE(workshop_.has_worker());
    run_until_ended();
    EXPECT_EQ(ended_.size(), i);
  }
  EXPECT_TRUE(std::filesystem::is_directory(workshop_.cache_of(experiment_)));
}

TEST_F(WorkshopTest, AWorkerEndsWhenItIsStopped) {
  use_worker("cat <&3 >/dev/null\n");
  ASSERT_TRUE(workshop_.prepare());
  ASSERT_TRUE(start());
  workshop_.stop();
  run_until_ended();
  EXPECT_EQ(ended_.size(), 1U);
  workshop_.stop();
  workshop_.send(0, "{}", 1s);
}

TEST_F(WorkshopTest, TheOwnerHearsTheLinesOfAWorkerThatItHasNotStopped) {
  use_worker("echo one >&3\necho two >&3\nread line <&3\necho \"$line\" >&3\n");
  ASSERT_TRUE(workshop_.prepare());
  ASSERT_TRUE(start());
  workshop_.send(0, "{}", 1min);
  run_until_ended();
  EXPECT_THAT(said_, testing::ElementsAre("one", "two", "{}"));
  EXPECT_EQ(silent_, 0);
  said_.clear();
  ASSERT_TRUE(start());
  workshop_.stop();
  run_until_ended();
  EXPECT_THAT(said_, testing::IsEmpty());
}

TEST_F(WorkshopTest, AWorkerThatDoesNotEndByItselfIsKilledAfterAGracePeriod) {
  use_worker("exec sleep 1000\n");
  ASSERT_TRUE(workshop_.prepare());
  ASSERT_TRUE(start());
  workshop_.stop();
  clock_.pass(15s - 1ms);
  EXPECT_TRUE(lives());
  clock_.pass(1ms);
  run_until_ended();
  EXPECT_EQ(ended_.size(), 1U);
  EXPECT_EQ(silent_, 0);
  EXPECT_EQ(clock_.running(), 0U);
}

// The second that is added leaves the loop a turn in which it reads the answer.
TEST_F(WorkshopTest, AWorkerThatDoesNotAnswerIsKilled) {
  use_worker("exec sleep 1000\n");
  ASSERT_TRUE(workshop_.prepare());
  ASSERT_TRUE(start());
  workshop_.send(0, "{}", 5s);
  clock_.pass(6s - 1ms);
  EXPECT_EQ(silent_, 0);
  EXPECT_TRUE(lives());
  clock_.pass(1ms);
  EXPECT_EQ(silent_, 1);
  EXPECT_TRUE(workshop_.has_worker()) << "its end is reported when it has ended";
  run_until_ended();
  EXPECT_EQ(ended_.size(), 1U);
  EXPECT_EQ(clock_.running(), 0U);
}

TEST_F(WorkshopTest, NobodyWaitsForAnAnswerThatHasCome) {
  use_worker("read line <&3\necho \"$line\" >&3\nexec cat <&3 >/dev/null\n");
  ASSERT_TRUE(workshop_.prepare());
  ASSERT_TRUE(start());
  workshop_.send(0, "{}", 5s);
  while (said_.empty()) uv_run(loop_->get(), UV_RUN_ONCE);
  EXPECT_EQ(clock_.running(), 0U);
  clock_.pass(1h);
  EXPECT_EQ(silent_, 0);
  EXPECT_TRUE(lives());
  workshop_.stop();
  run_until_ended();
}

// A process that is traced, or that waits in the kernel, may stay although it was killed.
TEST_F(WorkshopTest, AKilledWorkerThatDoesNotEndCountsAsEnded) {
  use_worker("exec sleep 1000\n");
  ASSERT_TRUE(workshop_.prepare());
  ASSERT_TRUE(start());
  workshop_.stop();
  clock_.pass(15s);
  // The loop does not turn, so nobody learns of the worker's end.
  clock_.pass(10s - 1ms);
  EXPECT_TRUE(workshop_.has_worker());
  clock_.pass(1ms);
  EXPECT_FALSE(workshop_.has_worker());
  EXPECT_EQ(ended_.size(), 1U);
  uv_run(loop_->get(), UV_RUN_DEFAULT);
  EXPECT_EQ(ended_.size(), 1U);
}

TEST_F(WorkshopTest, AWorkerThatCannotStartIsAnError) {
  ASSERT_TRUE(workshop_.prepare());
  std::filesystem::create_directories(directory_ / "some");
  ASSERT_TRUE(write_file_atomically(directory_ / "some/cache", "a file"));
  EXPECT_FALSE(start());
  EXPECT_FALSE(workshop_.has_worker());
}

TEST_F(WorkshopTest, WithoutAGroupNoLimitIsPassed) {
  ASSERT_TRUE(workshop_.prepare());
  workshop_.bound({});
  EXPECT_EQ(workshop_.passed(), "");
}

TEST_F(WorkshopTest, TheMachineIsExaminedWithAWorkerOnly) {
  EXPECT_FALSE(workshop_.examine(1));
  use_worker("exit 0\n");
  ASSERT_TRUE(workshop_.prepare());
  ASSERT_TRUE(start());
  EXPECT_TRUE(workshop_.examine(1));
  run_until_ended();
}

TEST_F(WorkshopTest, TheMachinesFactsAndCpusAreThoseThatTheDaemonSees) {
  EXPECT_FALSE(workshop_.facts());
  use_worker("exit 0\n");
  ASSERT_TRUE(workshop_.prepare());
  ASSERT_TRUE(start());
  const auto facts = workshop_.facts();
  ASSERT_TRUE(facts);
  EXPECT_EQ(machine::facts_in(facts->facts_json)->key, facts->key);
  const std::vector<unsigned>& all = workshop_.allowed_cpus();
  const auto cpus = workshop_.cpus_beside({all.front()});
  ASSERT_TRUE(cpus) << cpus.error().message;
  EXPECT_EQ(cpus->trial, machine::CpuSet{all.front()});
  EXPECT_EQ(machine::difference(cpus->others, all), machine::CpuSet{});
  EXPECT_FALSE(workshop_.cpus_beside({all.back() + 1}));
  EXPECT_FALSE(workshop_.cpus_beside({}));
  run_until_ended();
}

TEST_F(WorkshopTest, EachUserHasAFolderInTheCache) {
  EXPECT_EQ(workshop_.cache_of({.uid = 1000}), directory_ / "some/cache/1000");
  EXPECT_GT(workshop_.usual_cache_limit(), 0U);
  EXPECT_LE(workshop_.usual_cache_limit(), std::uint64_t{16} << 30);
}

TEST_F(WorkshopTest, TheFoldersOfAnAccountAreCounted) {
  const auto is_hers = [](std::uint32_t uid) { return uid == 1000 || uid / 1000 == 100; };
  EXPECT_EQ(workshop_.count_caches(is_hers), 1U) << "there is no cache yet";
  for (const char* name : {"1000", "1001", "100000", "100001", "100x", "-1"})
    std::filesystem::create_directories(directory_ / "some/cache/" + name);
  EXPECT_EQ(workshop_.count_caches(is_hers), 3U);
  EXPECT_EQ(workshop_.count_caches([](std::uint32_t uid) { return uid == 5; }), 1U);
}

}  // namespace
}  // namespace stab::daemon
