// SPDX-License-Identifier: MIT
// A night: a long experiment of one user's meets a report of many trials, another user's cancel, a
// full disk, jumps of the clock and kills of stabd, and ends complete. In a campaign
// (tests/campaign/run night) it takes half an hour.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/system/users.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int in_a_round = 500;  // trials
constexpr const char* state_folder = "/var/lib/stabd";

class Night : public Users {
 protected:
  void SetUp() override {
    Users::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    end_daemon(SIGTERM);
    const std::string many = std::to_string(times(50'000, 1'000'000));
    const Output made =
        run_program({std::string(STAB_BIN_DIR) + "/../bench/make_trials", state_folder, many}, "/");
    ASSERT_EQ(made.out, "1\n") << made.err;
    if (make_clock(lab_)) clock_ = lab_.path("clock.so");
    lab_.write("users.toml", "[retention]\noutput_days = 30\nexperiments_days = 300\n");
    start();
    lab_.write("61234/night.toml", plan("night", in_a_round * rounds_));
    lab_.write("61235/other.toml", plan("other", 100'000));
  }
  static std::string plan(const std::string& name, int repetitions) {
    return "[experiment]\nname = \"" + name +
           "\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sh\", \"-c\", \"echo a line >&2; sleep "
           "0.03\"]\nrepetitions = " +
           std::to_string(repetitions) + "\n";
  }
  void start() {
    if (!clock_.empty()) setenv("LD_PRELOAD", clock_.c_str(), 1);
    start_daemon({"--config", lab_.path("users.toml")});
    unsetenv("LD_PRELOAD");
  }
  void end_daemon(int signal) {
    kill(daemon_, signal);
    EXPECT_EQ(end_of(daemon_), signal == SIGKILL ? -SIGKILL : 0);
  }
  std::string state() const {
    for (const json& row : json::parse(as(ada, {"list", "--json"}).out))
      if (row["id"] == night_) return row["state"];
    return "gone";
  }
  // Or to its end: on a slow machine all trials may have run before the last rounds.
  bool comes_to(const std::string& wanted) const {
    std::string now = state();
    for (int i = 0; i < 3000 && now != wanted && now != "done" && now != "failed"; ++i) {
      usleep(20'000);
      now = state();
    }
    return now == wanted || now == "done";
  }

  std::size_t stored() const {
    const json shown = json::parse(as(ada, {"status", "--json", std::to_string(night_)}).out);
    return shown["progress"]["done"];
  }

  void a_report_of_many_trials() const {
    const Output report = as(0, {"report", "--json", "1"});
    EXPECT_EQ(report.code, 0) << report.err;
    EXPECT_THAT(report.out, ::testing::HasSubstr("\"many\""));
  }
  void a_cancel_of_another_user() const {
    const Output submitted = as(bob, {"submit", "--json", lab_.path("61235/other.toml")});
    ASSERT_EQ(submitted.code, 0) << submitted.err;
    const std::string other = std::to_string(json::parse(submitted.out)["id"].get<int>());
    EXPECT_EQ(as(bob, {"cancel", std::to_string(night_)}).code, 1);
    EXPECT_EQ(as(bob, {"cancel", other}).code, 0);
  }
  void a_full_disk() const {
    std::error_code error;
    const auto used = fs::space("/var/lib", error);
    const auto size = used.capacity - used.available + (std::uintmax_t{1} << 20);
    ASSERT_EQ(
        mount("tmpfs", "/var/lib", "tmpfs", MS_REMOUNT, ("size=" + std::to_string(size)).c_str()),
        0);
    std::ofstream filler("/var/lib/filler", std::ios::binary);
    const std::string page(4096, 'x');
    while (filler << page && filler.flush()) {
    }
    EXPECT_TRUE(comes_to("paused"));
    ASSERT_EQ(mount("tmpfs", "/var/lib", "tmpfs", MS_REMOUNT, "size=100%"), 0);
    fs::remove("/var/lib/filler");
    EXPECT_TRUE(comes_to("running"));
  }
  void a_jump_of_the_clock(int round) const {
    lab_.write("clock", round % 2 == 0 ? "34560000" : "-18000");  // 400 days, 5 hours
    kill(daemon_, SIGHUP);                                        // it looks for what is old
    EXPECT_TRUE(wait_for_text(log(), "the settings were read again"));
  }
  void a_kill() {
    end_daemon(SIGKILL);
    // Whoever starts it anew has mended the clock.
    fs::remove(lab_.path("clock"));
    start();
    EXPECT_TRUE(comes_to("running"));
  }

  const int rounds_ = times(2, 60);
  std::string clock_;
  int night_ = 0;
};

TEST_F(Night, EndsCompleteWhateverHappens) {
  const auto begin = std::chrono::steady_clock::now();
  night_ = json::parse(as(ada, {"submit", "--json", lab_.path("61234/night.toml")}).out)["id"];
  ASSERT_TRUE(comes_to("running"));
  int disturbed = 0;  // rounds
  for (int round = 0; round < rounds_; ++round) {
    disturbed += state() == "running" ? 1 : 0;
    a_report_of_many_trials();
    a_cancel_of_another_user();
    a_full_disk();
    a_jump_of_the_clock(round);
    a_kill();
    ASSERT_FALSE(HasFatalFailure()) << round;
    // The nights of a campaign are as long as their trials.
    while (state() == "running" &&
           stored() < static_cast<std::size_t>(in_a_round) * static_cast<std::size_t>(round + 1))
      usleep(500'000);
  }
  EXPECT_GT(disturbed, 0);
  EXPECT_TRUE(comes_to("done")) << as(ada, {"status", std::to_string(night_)}).out;
  const auto passed = std::chrono::steady_clock::now() - begin;

  const json trials =
      json::parse(as(ada, {"export", "--format", "json", std::to_string(night_)}).out);
  ASSERT_EQ(trials.size(), static_cast<std::size_t>(in_a_round * rounds_));
  for (std::size_t i = 0; i < trials.size(); ++i) {
    ASSERT_EQ(trials[i]["status"], "ok") << trials[i];
    EXPECT_EQ(trials[i]["position"], i);
    EXPECT_EQ(trials[i]["attempt"], 0);
    EXPECT_GT(trials[i]["wall_ns"], 30'000'000);
  }
  json rows = json::parse(as(0, {"list", "--json"}).out);
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(rounds_) + 2);
  for (const json& row : rows) {
    const std::string wanted = row["id"] == night_ || row["id"] == 1 ? "done" : "cancelled";
    EXPECT_EQ(row["state"], wanted);
    if (row["id"] != night_) continue;
    EXPECT_GT(row["duration_ns"], in_a_round * rounds_ * 30'000'000LL);
    EXPECT_LT(row["duration_ns"], std::chrono::nanoseconds(passed).count());
  }
  const Output report = as(ada, {"report", std::to_string(night_)});
  EXPECT_EQ(report.code, 0) << report.err;
}

}  // namespace
}  // namespace stab::test
