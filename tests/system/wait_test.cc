// SPDX-License-Identifier: MIT
// Waiting for a quiet machine, through the real programs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "machine/quiet/tree_testing.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// A tree of a machine without /proc/stat: only what a test puts there is waited for.
class Wait : public machine::Tree {
 protected:
  ~Wait() override { end_load(); }
  int submit(const std::string& machine, int repetitions = 2) {
    lab_.write("plan.toml", fmt::format("[experiment]\nname = 'waits'\n[machine]\n{}\n"
                                        "[[benchmark]]\nname = 'b'\nrun = ['true']\n"
                                        "repetitions = {}\n",
                                        machine, repetitions));
    return lab_.submit("plan.toml");
  }
  // Programs that never wait, wherever the kernel lets them run. While one is stopped the other
  // one goes on.
  void load() {
    for (pid_t& each : loads_) {
      each = fork();
      if (each != 0) continue;
      for (volatile unsigned i = 0;; i = i + 1) {
      }
    }
  }
  void end_load() {
    for (pid_t& each : loads_) {
      if (each <= 0) continue;
      kill(each, SIGKILL);
      waitpid(std::exchange(each, 0), nullptr, 0);
    }
  }
  std::string status(int id) const { return lab_.ctl({"status", std::to_string(id)}).out; }
  // Whether it gets to wait, and says this.
  bool waits(int id, const std::string& what = "waiting for a quiet machine") const {
    for (int i = 0; i < 6000; ++i) {
      if (status(id).find(what) != std::string::npos) return true;
      usleep(10'000);
    }
    return false;
  }
  void heat(int celsius) const {
    put("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
    put("/sys/class/thermal/thermal_zone0/temp", fmt::format("{}000\n", celsius));
  }

  Lab lab_;
  std::array<pid_t, 2> loads_{};
};

TEST_F(Wait, BesideALoadABlockIsMeasuredAfterTheLongestWait) {
  load();
  ASSERT_TRUE(lab_.start_daemon());
  const int id = submit("wait_for_quiet = '1s'");
  ASSERT_TRUE(lab_.wait_for(id, "done")) << status(id);
  const json trials = lab_.trials(id);
  ASSERT_EQ(trials.size(), 2U);
  for (const json& trial : trials) {
    EXPECT_GE(trial["quiet-wait-ns"], 1'000'000'000);
    EXPECT_EQ(trial["quiet-wait-in-vain"], 1);
  }
  EXPECT_THAT(status(id), AllOf(HasSubstr("before block 2: "),
                                HasSubstr(" in vain, so the block is measured anyway: "),
                                HasSubstr(" % busy")));
  const json quietness =
      json::parse(lab_.ctl({"report", std::to_string(id), "--json"}).out)["quietness"];
  EXPECT_EQ(quietness["waits"], 2);
  EXPECT_EQ(quietness["waits_in_vain"], 2);
  EXPECT_GE(quietness["waited_ns"], 2'000'000'000);
  EXPECT_THAT(joined(lab_.ctl({"report", std::to_string(id)}).out),
              HasSubstr("waited 2 times for a quiet machine"));
}

TEST_F(Wait, PauseCancelStopAndKillEndItAtOnce) {
  load();
  ASSERT_TRUE(lab_.start_daemon());
  const int id = submit("wait_for_quiet = '20h'");
  ASSERT_TRUE(waits(id)) << status(id);
  EXPECT_THAT(status(id), HasSubstr(", at most 20 h 0 min"));
  EXPECT_EQ(lab_.ctl({"pause", std::to_string(id)}).code, 0);
  EXPECT_TRUE(lab_.wait_for(id, "paused"));
  EXPECT_EQ(lab_.ctl({"resume", std::to_string(id)}).code, 0);
  ASSERT_TRUE(waits(id)) << status(id);
  lab_.end_daemon(SIGKILL);
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(waits(id)) << status(id);
  lab_.end_daemon(SIGTERM);
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(waits(id)) << status(id);
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);
  EXPECT_TRUE(lab_.wait_for(id, "cancelled"));
  EXPECT_TRUE(lab_.trials(id).empty());
}

TEST_F(Wait, WhenItIsAsQuietAsThePlanSaysItGoesOn) {
  heat(90);
  ASSERT_TRUE(lab_.start_daemon({"--machine-root", root_}));
  const int id = submit("wait_for_quiet = '20h'\nquiet_temperature_c = 60", 3);
  ASSERT_TRUE(waits(id, "90 C is above 60")) << status(id);
  heat(40);
  ASSERT_TRUE(lab_.wait_for(id, "done")) << status(id);
  const json trials = lab_.trials(id);
  ASSERT_EQ(trials.size(), 3U);
  EXPECT_GT(trials[0]["quiet-wait-ns"], 0);
  EXPECT_EQ(trials[0]["quiet-wait-in-vain"], 0);
  EXPECT_TRUE(trials[1].value("quiet-wait-ns", json()).is_null()) << trials[1].dump();
  // What this machine does not show is said once.
  const std::string told = status(id);
  const std::size_t at = told.find("did not wait: load (");
  ASSERT_NE(at, std::string::npos) << told;
  EXPECT_EQ(told.find("did not wait", at + 1), std::string::npos);
}

TEST_F(Wait, CheckSaysWhatIsWaitedForAndWhatIsNotThereToWaitFor) {
  lab_.write(
      "plan.toml",
      "[experiment]\nname = 'waits'\n[machine]\nwait_for_quiet = '2min'\nquiet_load = '10%'\n"
      "[[benchmark]]\nname = 'b'\nrun = ['true']\n");
  const Output check = lab_.ctl({"check", "plan.toml"});
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(
      check.out,
      HasSubstr("before each block, trials wait up to 2 min 0 s for a quiet "
                "machine. On a quiet machine, other programs use at most 10 % of the CPUs"));
  const json design = json::parse(lab_.ctl({"check", "plan.toml", "--json"}).out);
  EXPECT_EQ(design["wait_for_quiet"]["most_ns"], 120'000'000'000);
}

TEST_F(Wait, CheckSaysWhyTheseCpus) {
  lab_.write("plan.toml",
             "[experiment]\nname = 'cpus'\n[[benchmark]]\nname = 'b'\nrun = ['true']\n");
  EXPECT_THAT(
      lab_.ctl({"check", "plan.toml"}).out,
      ContainsRegex("on this machine, trials would run on CPU [0-9]+: .*the core of CPU 0"));
  const json design = json::parse(lab_.ctl({"check", "plan.toml", "--json"}).out);
  EXPECT_FALSE(design["cpus_here"]["cpus"].get<std::string>().empty());
  EXPECT_GE(design["cpus_here"]["reasons"].size(), 2U);
}

}  // namespace
}  // namespace stab::test
