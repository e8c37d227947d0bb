// SPDX-License-Identifier: MIT
// The attempts are shell commands.
#include "stabd/daemon/allocations.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>

#include "stabd/daemon/clock_testing.h"
#include "store/test_support.h"

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;

class AllocationsTest : public testing::Test {
 protected:
  std::unique_ptr<Allocations> daemon() {
    auto made = std::make_unique<Allocations>(
        clock_, directory_ / "allocations.json",
        [this](const Owner& owner) -> Result<Allocations::Attempt> {
          attempts_.push_back(owner.uid);
          machine::ContainedStart what;
          what.argv = {"/bin/sh", "-c", command_};
          what.uid = geteuid();
          what.gid = getegid();
          auto process = machine::start_contained(what);
          if (!process) return std::unexpected(process.error());
          pollfd ended{process->pidfd.get(), POLLIN, 0};
          if (command_.starts_with("exit")) EXPECT_EQ(poll(&ended, 1, 60'000), 1);
          return Allocations::Attempt{.process = *std::move(process), .daemon = Fd()};
        });
    EXPECT_TRUE(made->take_over());
    return made;
  }

  store::TemporaryDirectory directory_;
  ClockOfTest clock_;
  std::string command_ = "exit 0";
  std::vector<std::uint32_t> attempts_;
};

TEST_F(AllocationsTest, NothingIsAskedWithoutAStep) {
  const auto all = daemon();
  clock_.pass(1h);
  EXPECT_TRUE(attempts_.empty());
  EXPECT_EQ(clock_.running(), 0U);
}

TEST_F(AllocationsTest, OneLookAfterEachStepIsEnough) {
  const auto all = daemon();
  for (std::size_t i = 1; i <= 2; ++i) {
    ASSERT_TRUE(all->step_starts({.uid = 7}));
    clock_.pass(1h);
    EXPECT_EQ(attempts_.size(), i - 1) << "the step still runs";
    all->step_ended();
    clock_.pass(1h);
    EXPECT_EQ(attempts_.size(), i);
    EXPECT_EQ(clock_.running(), 0U);
  }
}

TEST_F(AllocationsTest, ItIsTriedUntilNothingIsLeft) {
  command_ = "exit 1";
  const auto all = daemon();
  ASSERT_TRUE(all->step_starts({.uid = 7}));
  ASSERT_TRUE(all->step_starts({.uid = 8}));
  all->step_ended();
  clock_.pass(5min);
  EXPECT_EQ(std::vector(attempts_.begin(), attempts_.begin() + 4),
            (std::vector<std::uint32_t>{7, 8, 7, 8}));
  command_ = "exit 0";
  clock_.pass(1h);
  EXPECT_EQ(clock_.running(), 0U);
}

TEST_F(AllocationsTest, AttemptsThatFailBecomeRare) {
  command_ = "exit 1";
  const auto all = daemon();
  ASSERT_TRUE(all->step_starts({.uid = 7}));
  all->step_ended();
  clock_.pass(24h);
  EXPECT_LT(attempts_.size(), 150U);
  EXPECT_GT(attempts_.size(), 100U);
}

TEST_F(AllocationsTest, AUserWhoCouldNotBeStoredIsNotTakenForStored) {
  const auto all = daemon();
  std::filesystem::create_directories(directory_ / "allocations.json/in the way");
  EXPECT_FALSE(all->step_starts({.uid = 7}));
  EXPECT_FALSE(all->step_starts({.uid = 7})) << "it is still not stored";
  std::filesystem::remove_all(directory_ / "allocations.json");
  ASSERT_TRUE(all->step_starts({.uid = 7}));
  EXPECT_TRUE(std::filesystem::exists(directory_ / "allocations.json"));
}

TEST_F(AllocationsTest, AFileThatCannotBeReadIsSaid) {
  std::filesystem::create_directories(directory_ / "allocations.json");
  Allocations all(clock_, directory_ / "allocations.json", nullptr);
  EXPECT_FALSE(all.take_over());
}

TEST_F(AllocationsTest, TheNextDaemonGoesOn) {
  ASSERT_TRUE(daemon()->step_starts({.uid = 7, .gid = 8}));
  {
    const auto next = daemon();
    clock_.pass(1h);
    EXPECT_EQ(attempts_, std::vector<std::uint32_t>{7});
  }
  const auto another = daemon();
  clock_.pass(1h);
  EXPECT_EQ(attempts_.size(), 1U);
}

TEST_F(AllocationsTest, ADaemonThatEndsLooksOften) {
  bool freed = false;
  command_ = "exit 1";
  const auto all = daemon();
  ASSERT_TRUE(all->step_starts({.uid = 7}));
  all->step_ended();
  clock_.pass(1ms);
  ASSERT_EQ(attempts_.size(), 1U);
  all->hurry([&freed] { freed = true; });
  clock_.pass(3s);
  EXPECT_GE(attempts_.size(), 3U);
  EXPECT_TRUE(all->has_owners());
  EXPECT_FALSE(freed);
  command_ = "exit 0";
  clock_.pass(3s);
  EXPECT_TRUE(freed);
  EXPECT_FALSE(all->has_owners());
  EXPECT_EQ(clock_.running(), 0U);
}

TEST_F(AllocationsTest, ADaemonThatEndsDoesNotReplaceAnAttempt) {
  command_ = "sleep 1000";
  const auto all = daemon();
  ASSERT_TRUE(all->step_starts({.uid = 7}));
  all->step_ended();
  all->hurry([] {});
  clock_.pass(10s);
  EXPECT_EQ(attempts_.size(), 1U);
}

TEST_F(AllocationsTest, TheFileNamesTheJobsThatMayBeLeft) {
  const auto names = [this] {
    std::vector<std::string> all;
    const auto owners = read_owners(directory_ / "allocations.json");
    if (!owners) ADD_FAILURE() << owners.error().message;
    if (owners)
      for (const Owner& owner : *owners)
        all.insert(all.end(), owner.jobs.begin(), owner.jobs.end());
    return all;
  };
  EXPECT_TRUE(names().empty()) << "there is no file";
  command_ = "exit 1";
  const auto all = daemon();
  for (const char* job : {"first", "second", "first"})
    ASSERT_TRUE(all->step_starts({.uid = 7, .gid = 8, .jobs = {job}}));
  all->step_ended();
  clock_.pass(1min);
  EXPECT_EQ(names(), (std::vector<std::string>{"first", "second"}));
  command_ = "exit 0";
  clock_.pass(1h);
  EXPECT_TRUE(names().empty()) << "nothing is left";
}

TEST_F(AllocationsTest, TheFileOfAnEarlierVersionHasNoNames) {
  ASSERT_TRUE(
      write_file_atomically(directory_ / "allocations.json", R"({"owners":[{"uid":7,"gid":8}]})"));
  const auto all = daemon();
  clock_.pass(1h);
  EXPECT_EQ(attempts_, std::vector<std::uint32_t>{7});
}

TEST_F(AllocationsTest, AnAttemptEndsBeforeAStepStarts) {
  command_ = "sleep 1000";
  const auto all = daemon();
  ASSERT_TRUE(all->step_starts({.uid = 7}));
  all->step_ended();
  clock_.pass(1ms);
  ASSERT_EQ(attempts_.size(), 1U);
  ASSERT_TRUE(all->step_starts({.uid = 7}));
  clock_.pass(1h);
  EXPECT_EQ(attempts_.size(), 1U);
}

TEST_F(AllocationsTest, AnAttemptThatHangsIsReplaced) {
  command_ = "sleep 1000";
  const auto all = daemon();
  ASSERT_TRUE(all->step_starts({.uid = 7}));
  all->step_ended();
  clock_.pass(5min);
  EXPECT_GT(attempts_.size(), 1U);
}

}  // namespace
}  // namespace stab::daemon
