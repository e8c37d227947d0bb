// SPDX-License-Identifier: MIT
// Notices whose commands and readers are shell scripts, at a time that the test sets. Each command
// writes its notice to a file.
#include "stabd/daemon/notices.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "plan/reading/read_plan.h"
#include "protocol/messages.h"
#include "protocol/reading.h"
#include "stabd/daemon/clock_testing.h"
#include "stabd/daemon/loop.h"
#include "stabd/daemon/loop_testing.h"
#include "store/test_support.h"

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;

constexpr const char* compares_two = R"(
[experiment]
name = "e"
[[benchmark]]
name = "b"
run = ["true", "${X}"]
[factor.x]
levels = { a = { X = "1" }, b = { X = "2" } }
)";

class NoticesTest : public testing::Test, protected ReadersSurroundings {
 protected:
  NoticesTest() {
    std::filesystem::create_directories(folder_);
    // A reader finds a regression as soon as the test lets it answer.
    script("reader", "until [ -e " + folder_ + "/answer ]; do sleep 0.02; done\n" + "echo '" +
                         protocol::encode(protocol::ReportReply{.regressed = true}) +
                         "' >/proc/self/fd/3\n");
    script("command", "cat >" + folder_ + "/new && mv " + folder_ + "/new " + folder_ + "/got\n");
    script("failing", "exit 3\n");
    store_ = store::open_or_fail(directory_ / "stab.db");
    row_ = {.name = "e", .plan = "p", .directory = "/", .uid = 1000, .state = "done"};
    row_.id = store_->add_experiment(row_).value();
    readers_.reset(new Readers(
        clock_, loop_->get(),
        ReadersOptions{.program = folder_ + "/reader", .folder = folder_, .limit = 1h}, *this));
    settings::Notify own;
    own.command = {folder_ + "/command"};
    own.time_limit = 1h;
    own.when = settings::Notices::always;
    use(own);
  }
  ~NoticesTest() override {
    readers_.reset();
    notices_->end();
  }
  [[nodiscard]] bool is_trusted(std::uint32_t) const override { return false; }
  [[nodiscard]] bool reader_may_begin(std::uint32_t) const override { return true; }
  [[nodiscard]] std::string readers_must_end() override { return ""; }
  void readers_changed() override {}
  void use(const settings::Notify& own) {
    own_ = own;
    notices_.emplace(clock_, loop_->get(), *store_, *readers_, accounts_,
                     NoticesOptions{.program = "", .database = directory_ / "stab.db"}, own,
                     [this] { ++sent_; });
  }
  void script(const std::string& name, const std::string& body) {
    ASSERT_TRUE(write_file_atomically(folder_ + "/" + name, "#!/bin/sh\n" + body));
    ASSERT_EQ(chmod((folder_ + "/" + name).c_str(), 0700), 0);
  }
  void tell(std::string_view event, const std::optional<Counts>& counts = {}) {
    notices_->tell(row_, plan_ ? &*plan_ : nullptr, event, "why", counts);
  }
  void run_until_sent() {
    while (notices_->owed()) turn(loop_->get(), clock_);
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::filesystem::exists(folder_ + "/" + name);
  }
  nlohmann::json got() {
    return nlohmann::json::parse(read_file(folder_ + "/got", 10'000).value());
  }
  std::vector<std::string> noted() {
    std::vector<std::string> texts;
    for (const store::Event& each : store_->events(row_.id).value())
      if (each.kind == "notify") texts.push_back(each.text);
    return texts;
  }

  store::TemporaryDirectory directory_;
  const std::string folder_ = directory_ / "scripts";
  ClockOfTest clock_;
  std::unique_ptr<Loop> loop_ = Loop::open().value();
  std::unique_ptr<store::Store> store_;
  store::Experiment row_;
  std::optional<plan::Plan> plan_;
  settings::Notify own_;
  std::unique_ptr<Readers> readers_;
  const Accounts accounts_{"", geteuid(), [](const std::string&) { return std::nullopt; }};
  std::optional<Notices> notices_;
  int sent_ = 0;
};

TEST_F(NoticesTest, TheDaemonsCommandGetsTheExperimentsEnd) {
  tell("failed", Counts{.total = 9, .ok = 4, .failed = 5});
  EXPECT_TRUE(notices_->owed());
  sent_ = 0;
  run_until_sent();
  EXPECT_EQ(sent_, 1) << "whoever waits for the notices is told";
  EXPECT_EQ(got()["event"], "failed");
  EXPECT_EQ(got()["id"], row_.id);
  EXPECT_EQ(got()["reason"], "why");
  EXPECT_EQ(got()["trials"]["failed"], 5);
  EXPECT_EQ(got()["verdict"], nullptr);
  EXPECT_THAT(noted(), testing::IsEmpty());
}

TEST_F(NoticesTest, OnlyTroubleIsToldIfTheSettingsSaySo) {
  own_.when = settings::Notices::trouble;
  notices_->use_settings(own_);
  tell("done");
  tell("cancelled");
  EXPECT_FALSE(notices_->owed());
  tell("failed");
  run_until_sent();
  EXPECT_EQ(got()["event"], "failed");
}

// The daemon itself never reads the plan of an experiment that has not begun.
TEST_F(NoticesTest, AReaderFindsTheCommandOfAPlanThatNobodyHasRead) {
  own_.command.clear();
  notices_->use_settings(own_);
  row_.uid = geteuid();
  row_.gid = getegid();
  row_.plan = "a plan without a command";
  notices_->tell_unread(row_, "cancelled", "why");
  EXPECT_FALSE(notices_->owed());
  // The reader gets the plan's lines after the request.
  script("reader", "cp /proc/self/fd/3 " + folder_ + "/asked\n: >/proc/self/fd/3\necho '" +
                       protocol::encode(protocol::NoticeReply{.command = {folder_ + "/command"}}) +
                       "' >/proc/self/fd/3\n");
  row_.plan = "[experiment]\nnotify = ['x']\n";
  notices_->tell_unread(row_, "cancelled", "why");
  EXPECT_TRUE(notices_->owed());
  run_until_sent();
  EXPECT_EQ(got()["event"], "cancelled");
  EXPECT_EQ(got()["verdict"], nullptr);
  EXPECT_THAT(read_file(folder_ + "/asked", 10'000).value(),
              testing::EndsWith("}\n[experiment]\nnotify = ['x']\n\n"));
  EXPECT_THAT(noted(), testing::IsEmpty());
}

TEST_F(NoticesTest, ANoticeWhosePlanCannotBeReadIsNoted) {
  own_.command.clear();
  notices_->use_settings(own_);
  script("reader", "exit 3\n");
  row_.plan = "[experiment]\nnotify = ['x']\n";
  notices_->tell_unread(row_, "cancelled", "why");
  run_until_sent();
  EXPECT_THAT(noted(), testing::ElementsAre(testing::HasSubstr("the notice is not sent: ")));
}

TEST_F(NoticesTest, WithoutACommandNothingIsOwed) {
  notices_->use_settings({});
  tell("failed");
  EXPECT_FALSE(notices_->owed());
}

TEST_F(NoticesTest, ANoticeWaitsForTheVerdictOnItsComparison) {
  plan_ = plan::read_plan(compares_two).value();
  tell("done", Counts{.total = 2, .ok = 2});
  EXPECT_TRUE(notices_->owed());
  turn(loop_->get(), clock_);
  EXPECT_FALSE(has("got"));
  ASSERT_TRUE(write_file_atomically(folder_ + "/answer", ""));
  run_until_sent();
  EXPECT_EQ(got()["verdict"], "regressed");
}

TEST_F(NoticesTest, ACommandThatFailsIsAnEventOfTheExperiment) {
  own_.command = {folder_ + "/failing"};
  notices_->use_settings(own_);
  tell("failed");
  run_until_sent();
  EXPECT_THAT(noted(), testing::ElementsAre(testing::HasSubstr("ended with exit code 3")));
}

TEST_F(NoticesTest, ACommandThatRunsLongerThanTheLimitIsKilled) {
  own_.command = {"/bin/sleep", "1000"};
  notices_->use_settings(own_);
  tell("failed");
  own_.command = {folder_ + "/command"};
  notices_->use_settings(own_);
  tell("failed");
  clock_.pass(1h - 1ms);
  for (int i = 0; i < 10; ++i) uv_run(loop_->get(), UV_RUN_NOWAIT);
  EXPECT_THAT(noted(), testing::IsEmpty());
  EXPECT_FALSE(has("got")) << "the next command waits for the one that runs";
  clock_.pass(1ms);
  run_until_sent();
  EXPECT_THAT(noted(), testing::ElementsAre(testing::HasSubstr("took longer than 1 h ")));
  EXPECT_EQ(got()["event"], "failed");
  EXPECT_EQ(clock_.running(), 0U);
}

TEST_F(NoticesTest, AtTheEndEachUnsentNoticeIsNoted) {
  plan_ = plan::read_plan(compares_two).value();
  tell("done", Counts{.total = 2, .ok = 2});
  own_.command = {"/bin/sleep", "1000"};
  notices_->use_settings(own_);
  tell("failed");
  tell("failed");
  readers_.reset();
  notices_->end();
  EXPECT_THAT(noted(), testing::Each(notice_cut_short));
  EXPECT_EQ(noted().size(), 3U);
}

}  // namespace
}  // namespace stab::daemon
