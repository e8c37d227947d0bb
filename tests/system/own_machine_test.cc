// SPDX-License-Identifier: MIT
// Plans that make this very machine quiet, moving its other processes too. Only with STAB_REAL_KNOBS=1, as root:
//   STAB_REAL_KNOBS=1 ctest --test-dir build -L machine
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "machine/quiet/knobs.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

int cpus_of(pid_t process) {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(process, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
}

class OwnMachine : public testing::Test {
 protected:
  void SetUp() override {
    const char* asked = std::getenv("STAB_REAL_KNOBS");
    if (asked == nullptr || std::string(asked) != "1" || geteuid() != 0)
      GTEST_SKIP() << "it changes settings of this machine: STAB_REAL_KNOBS=1, as root";
    before_ = settings();
    all_ = cpus_of(0);
    bystander_ = fork();
    if (bystander_ == 0) {
      setsid();
      for (;;) pause();
    }
  }
  void TearDown() override {
    if (bystander_ == 0) return;
    lab_.end_daemon(SIGKILL);
    lab_.ctl({"quiet", "restore"});
    EXPECT_EQ(settings(), before_);
    EXPECT_EQ(cpus_of(bystander_), all_);
    kill(bystander_, SIGKILL);
    waitpid(bystander_, nullptr, 0);
  }

  // Of all files of all knobs that are here.
  static std::map<std::string, std::string> settings() {
    const auto topology = machine::Topology::load();
    const auto cpus = topology->choose_cpus(1);
    std::map<std::string, std::string> all;
    for (const machine::Knob& knob : machine::knobs())
      for (const machine::Setting& setting : machine::read_knob(knob, *cpus, ""))
        all[setting.file] = setting.found + setting.error;
    return all;
  }
  int submit(int repetitions) {
    lab_.write(
        "plan.toml",
        "[experiment]\nname = \"quiet\"\n[machine]\nquiesce = \"best-effort\"\n"
        "knobs = [\"swappiness\", \"timer_migration\", \"khugepaged\", \"other_processes\"]\n"
        "[[benchmark]]\nname = \"b\"\nrun = [\"sleep\", \"0.01\"]\nrepetitions = " +
            std::to_string(repetitions) + "\n");
    return lab_.submit("plan.toml");
  }

  std::map<std::string, std::string> before_;
  int all_ = 0;
  pid_t bystander_ = 0;
  Lab lab_;
};

TEST_F(OwnMachine, IsAsItWasAfterAnExperiment) {
  ASSERT_TRUE(lab_.start_daemon());
  const int id = submit(20);
  ASSERT_TRUE(lab_.wait_for(id, "done")) << lab_.ctl({"status", std::to_string(id)}).out;
  for (const auto& trial : lab_.trials(id)) EXPECT_EQ(trial["status"], "ok");
  EXPECT_EQ(settings(), before_);
  EXPECT_EQ(cpus_of(bystander_), all_);
}

TEST_F(OwnMachine, KeepsOthersAwayWhileItMeasuresAndForgetsNobodyWhenItIsKilled) {
  ASSERT_TRUE(lab_.start_daemon());
  const int id = submit(50'000);
  ASSERT_TRUE(lab_.wait_for(id, "running")) << lab_.ctl({"status", std::to_string(id)}).out;
  if (all_ > 1) EXPECT_LT(cpus_of(bystander_), all_);
  lab_.end_daemon(SIGKILL);
  if (all_ > 1) EXPECT_LT(cpus_of(bystander_), all_);
  // The next start puts it back before it goes on.
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  lab_.ctl({"cancel", std::to_string(id)});
  ASSERT_TRUE(lab_.wait_for(id, "cancelled"));
  EXPECT_EQ(settings(), before_);
  EXPECT_EQ(cpus_of(bystander_), all_);
}

}  // namespace
}  // namespace stab::test
