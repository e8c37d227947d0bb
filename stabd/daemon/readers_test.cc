// SPDX-License-Identifier: MIT
// Readers that end when the test lets them, so that each test looks at the order in which they are served.
#include "stabd/daemon/readers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "stabd/daemon/clock_testing.h"
#include "stabd/daemon/loop_testing.h"

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t root = 0;

class ReadersTest : public ::testing::Test, protected ReadersSurroundings {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    // A request names the file whose existence lets its reader end.
    const std::string program =
        "#!/bin/sh\nread line </proc/self/fd/3\necho $$ >\"$line.begun\"\n"
        "until [ -e \"$line\" ]; do sleep 0.02; done\n";
    ASSERT_TRUE(write_file_atomically(folder_ + "/reader", program));
    ASSERT_EQ(chmod((folder_ + "/reader").c_str(), 0700), 0);
    uv_loop_init(&loop_);
    readers_.reset(new Readers(
        clock_, &loop_,
        ReadersOptions{.program = folder_ + "/reader", .folder = folder_, .limit = 1h}, *this));
  }
  void TearDown() override {
    readers_.reset();
    uv_run(&loop_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop_), 0);
    std::filesystem::remove_all(folder_);
  }

  [[nodiscard]] bool is_trusted(std::uint32_t account) const override { return account == root; }
  [[nodiscard]] bool reader_may_begin(std::uint32_t uid) const override { return refused_ != uid; }
  [[nodiscard]] std::string readers_must_end() override { return must_end_; }
  void readers_changed() override { ++changes_; }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  Readers::Done done_of(const std::string& name) {
    return [this, name](const Result<Fd>& answer) {
      EXPECT_TRUE(answer) << answer.error().message;
      ended_.push_back(name);
    };
  }
  void ask(std::uint32_t account, const std::string& name) {
    readers_->ask(account, path(name), done_of(name));
  }
  void ask_briefly(std::uint32_t account, const std::string& name) {
    readers_->ask_briefly(account, path(name), done_of(name));
  }
  void ask_of_plan(std::uint32_t account, const std::string& name) {
    readers_->ask_of_plan(account, path(name), done_of(name));
  }
  void let_end(const std::string& name) { ASSERT_TRUE(write_file_atomically(path(name), "")); }
  [[nodiscard]] bool has_ended(const std::string& name) const {
    return std::ranges::find(ended_, name) != ended_.end();
  }
  void wait_for(const std::string& name) {
    while (!has_ended(name)) turn();
  }
  void wait_until_begun(const std::string& name) {
    while (read_file(path(name + ".begun"), 100).value_or("").empty()) turn();
  }
  [[nodiscard]] bool has_begun(const std::string& name) const {
    return std::filesystem::exists(path(name + ".begun"));
  }
  void turn() { daemon::turn(&loop_, clock_); }
  // Processes have at least this much time.
  void turn_for(std::chrono::milliseconds time) {
    for (const auto until = clock_.now() + time; clock_.now() < until;) turn();
  }

  std::string folder_ = testing::TempDir() + "readers-" + std::to_string(getpid());
  uv_loop_t loop_{};
  ClockOfTest clock_;
  std::unique_ptr<Readers> readers_;
  std::optional<std::uint32_t> refused_;  // the user who may not be answered
  std::string must_end_;                  // why clients' readers must end, or ""
  int changes_ = 0;
  std::vector<std::string> ended_;
};

// R1
TEST_F(ReadersTest, LongOnesOfSeveralAccountsKeepNoOtherAccountWaiting) {
  for (std::uint32_t account = 1; account <= 5; ++account) {
    ask(account, fmt::format("long of {}", account));
    ask(account, fmt::format("another of {}", account));
  }
  wait_until_begun("long of 2");
  ask(6, "of 6");
  let_end("of 6");
  wait_for("of 6");
  EXPECT_EQ(ended_.size(), 1U);
  // Each of them has its turn, though none ends.
  for (std::uint32_t account = 1; account <= 5; ++account)
    wait_until_begun(fmt::format("long of {}", account));
  EXPECT_EQ(ended_.size(), 1U);
  for (std::uint32_t account = 1; account <= 5; ++account)
    EXPECT_FALSE(has_begun(fmt::format("another of {}", account)));
  for (std::uint32_t account = 1; account <= 5; ++account)
    for (const char* name : {"long of {}", "another of {}"}) {
      let_end(fmt::format(fmt::runtime(name), account));
      wait_for(fmt::format(fmt::runtime(name), account));
    }
}

// R1: the memory of long ones has a bound, which brief ones pass.
TEST_F(ReadersTest, BriefOnesBeginThoughNoLongOneMayBegin) {
  for (std::uint32_t account = 1; account <= most_begun; ++account)
    ask(account, fmt::format("long of {}", account));
  for (std::uint32_t account = 1; account <= most_begun; ++account)
    wait_until_begun(fmt::format("long of {}", account));
  ask(50, "long of 50");
  ask_briefly(51, "brief of 51");
  ask_briefly(1, "brief of 1");
  for (const char* name : {"brief of 51", "brief of 1"}) {
    let_end(name);
    wait_for(name);
  }
  EXPECT_EQ(ended_.size(), 2U);
  EXPECT_FALSE(has_begun("long of 50"));
  let_end("long of 3");
  wait_until_begun("long of 50");
  let_end("long of 50");
  wait_for("long of 50");
  for (std::uint32_t account = 1; account <= most_begun; ++account) {
    let_end(fmt::format("long of {}", account));
    wait_for(fmt::format("long of {}", account));
  }
}

// R1: trusted users wait for nobody, and nobody stands still for them.
TEST_F(ReadersTest, ThoseOfRootRunBesideThoseOfOthers) {
  ask(1, "of 1");
  ask(2, "of 2");
  wait_until_begun("of 1");
  wait_until_begun("of 2");
  ask(root, "of root");
  wait_until_begun("of root");
  turn_for(1s);
  for (const char* name : {"of 1", "of 2", "of root"}) {
    const std::string pid = read_file(path(std::string(name) + ".begun"), 100).value();
    const auto stat = read_file("/proc/" + pid.substr(0, pid.size() - 1) + "/stat", 4096);
    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->find(") T "), std::string::npos) << name;
  }
  for (const char* name : {"of 1", "of 2", "of root"}) {
    let_end(name);
    wait_for(name);
  }
}

// R7
TEST_F(ReadersTest, WhoSubmitsOnePlanDoesNotWaitForAllOfThoseWhoSubmitMany) {
  constexpr int many = 10;
  for (int i = 0; i < many; ++i)
    for (std::uint32_t account = 1; account <= 3; ++account)
      ask_of_plan(account, fmt::format("plan {} of {}", i, account));
  ask_of_plan(4, "plan of 4");
  for (int i = 0; i < many; ++i)
    for (std::uint32_t account = 1; account <= 3; ++account)
      let_end(fmt::format("plan {} of {}", i, account));
  let_end("plan of 4");
  wait_for("plan of 4");
  EXPECT_LE(ended_.size(), 9U) << "each of the others is first for one or two plans";
  for (std::uint32_t account = 1; account <= 3; ++account)
    wait_for(fmt::format("plan {} of {}", many - 1, account));
  // Each account's own come in their order.
  int last = -1;
  for (const std::string& name : ended_)
    if (name.ends_with(" of 2")) {
      const int number = std::stoi(name.substr(5));
      EXPECT_EQ(number, last + 1);
      last = number;
    }
}

// Our log gets their output as lines, and they do not have our own stderr.
TEST_F(ReadersTest, NoStreamOfTheDaemonIsTheirs) {
  const std::string program =
      "#!/bin/sh\nread line </proc/self/fd/3\nlinks=$(readlink /proc/$$/fd/1 "
      "/proc/$$/fd/2)\nprintf '%s' \"$links\" >\"$line\"\n"
      "printf 'a\\033[2Jb\\n\\nlast'\n"
      "head -c 100000 /dev/zero | tr '\\0' x >&2\n";
  ASSERT_TRUE(write_file_atomically(folder_ + "/reader", program));
  ASSERT_EQ(chmod((folder_ + "/reader").c_str(), 0700), 0);
  std::ostringstream said;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "readers", std::make_shared<spdlog::sinks::ostream_sink_st>(said)));
  bool ended = false;
  readers_->ask(1, path("links"), [&ended](const Result<Fd>&) { ended = true; });
  while (!ended) turn();
  spdlog::set_default_logger(before);
  const std::string links = read_file(path("links"), 1000).value_or("");
  std::array<char, 100> own{};
  const ssize_t size = readlink("/proc/self/fd/2", own.data(), own.size());
  ASSERT_GT(size, 0);
  EXPECT_TRUE(links.starts_with("pipe:")) << links;
  EXPECT_FALSE(links.contains(std::string_view(own.data(), static_cast<std::size_t>(size))));
  EXPECT_TRUE(said.str().contains("a reader printed: a [2Jb\n")) << said.str();
  EXPECT_TRUE(said.str().contains("a reader printed: last")) << said.str();
  EXPECT_FALSE(said.str().contains('\x1b'));
  EXPECT_LT(said.str().size(), 20'000U);
}

TEST_F(ReadersTest, OnlyTheFirstLinesOfWhatOnePrintsAreLogged) {
  const std::string program =
      "#!/bin/sh\nread line </proc/self/fd/3\nfor i in $(seq 1000); do echo x; done\n"
      "printf done >\"$line\"\n";
  ASSERT_TRUE(write_file_atomically(folder_ + "/reader", program));
  ASSERT_EQ(chmod((folder_ + "/reader").c_str(), 0700), 0);
  std::ostringstream said;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "readers", std::make_shared<spdlog::sinks::ostream_sink_st>(said)));
  bool ended = false;
  readers_->ask(1, path("done"), [&ended](const Result<Fd>&) { ended = true; });
  while (!ended) turn();
  spdlog::set_default_logger(before);
  std::size_t lines = 0;
  const std::string text = said.str();
  for (std::size_t at = text.find("a reader printed: "); at != std::string::npos;
       at = text.find("a reader printed: ", at + 1))
    ++lines;
  EXPECT_EQ(lines, 50U);
}

// R2
TEST_F(ReadersTest, NobodyRunsWhileTrialsForbidIt) {
  for (std::uint32_t account = 1; account <= 4; ++account) {
    ask(account, std::to_string(account));
    let_end(std::to_string(account));
  }
  readers_->allow(false);
  turn_for(1500ms);
  EXPECT_TRUE(ended_.empty());
  readers_->allow(true);
  for (std::uint32_t account = 1; account <= 4; ++account) wait_for(std::to_string(account));
}

// R3
TEST_F(ReadersTest, OneThatRunsLongerThanTheLimitIsKilled) {
  std::optional<bool> answered;
  readers_->ask(1, path("of 1"),
                [&answered](const Result<Fd>& answer) { answered = answer.has_value(); });
  wait_until_begun("of 1");
  readers_->allow(false);
  clock_.pass(2h);
  readers_->allow(true);
  clock_.pass(30min);
  turn_for(10ms);
  EXPECT_FALSE(answered) << "the time while it was stopped does not count";
  clock_.pass(30min);
  while (!answered) turn();
  EXPECT_FALSE(*answered);
  EXPECT_EQ(clock_.running(), 0U);
}

// R5
TEST_F(ReadersTest, OnlyReadersOfClientsEndWhenTheLogNeedsTheirSpace) {
  readers_->ask_at_once(path("of the experiment"), done_of("of the experiment"));
  ask_of_plan(2, "plan of 2");
  std::string why;
  readers_->ask(1, path("of 1"), [&why](const Result<Fd>& answer) {
    why = answer ? "it has ended by itself" : answer.error().message;
  });
  for (const char* name : {"of the experiment", "plan of 2", "of 1"}) wait_until_begun(name);
  must_end_ = "no space is left";
  while (why.empty()) turn();
  EXPECT_EQ(why, must_end_);
  EXPECT_EQ(changes_, 1);
  for (const char* name : {"of the experiment", "plan of 2"}) {
    let_end(name);
    wait_for(name);
  }
  EXPECT_EQ(changes_, 3);
}

// R6
TEST_F(ReadersTest, WhoMayNotBeAnsweredHasNoReader) {
  refused_ = 1;
  ask(1, "of 1");
  EXPECT_FALSE(readers_->wanted());
  EXPECT_FALSE(readers_->asked());
  ask(2, "of 2");
  EXPECT_TRUE(readers_->asked());
  let_end("of 2");
  wait_for("of 2");
  EXPECT_FALSE(readers_->wanted()) << "trials do not wait for it";
  EXPECT_FALSE(has_begun("of 1"));
  refused_.reset();
  EXPECT_TRUE(readers_->wanted());
  let_end("of 1");
  wait_for("of 1");
}

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
