// SPDX-License-Identifier: MIT
// Plans that want a quiet machine, over a folder that stands for its /proc and /sys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>

#include "machine/quiet/knobs.h"
#include "machine/quiet/tree_testing.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Quiesce : public machine::Tree {
 protected:
  // Each trial fails unless the machine is as `swappiness` says.
  void write_plan(const std::string& how, int repetitions, const std::string& swappiness = "0") {
    lab_.write("plan.toml", "[experiment]\nname = \"quiet\"\n[machine]\n" + how +
                                "\n[[benchmark]]\nname = \"b\"\n" +
                                "run = [\"sh\", \"-c\", \"sleep 0.01; read v <" + root_ +
                                swappiness_ + "; test $v = " + swappiness +
                                "\"]\nrepetitions = " + std::to_string(repetitions) + "\n");
  }
  bool start() { return lab_.start_daemon({"--machine-root", root_}); }
  // It runs, on a quiet machine, until somebody ends it.
  int occupy() {
    write_plan("quiesce = \"strict\"", 50'000);
    const int id = lab_.submit("plan.toml");
    EXPECT_TRUE(lab_.wait_for(id, "running")) << status(id);
    EXPECT_EQ(at(swappiness_), "0");
    EXPECT_EQ(at(watchdog_), "0");
    return id;
  }
  std::string status(int id) const { return lab_.ctl({"status", std::to_string(id)}).out; }
  std::size_t wrong_trials(int id) const {
    std::size_t wrong = 0;
    for (const json& trial : lab_.trials(id)) wrong += trial["status"] == "ok" ? 0 : 1;
    return wrong;
  }
  Output by_hand(const std::string& verb) const {
    return lab_.ctl({"quiet", verb, "--root", root_});
  }
  // It can be read and not written, also by root.
  void refuse_swappiness() const {
    fs::rename(root_ + swappiness_, root_ + "/elsewhere");
    fs::create_symlink(root_ + "/elsewhere", root_ + swappiness_);
  }
  void expect_everything_as_it_was() const {
    for (const auto& [file, value] : files()) EXPECT_EQ(at(file) + "\n", value) << file;
  }

  const std::string swappiness_ = "/proc/sys/vm/swappiness";
  const std::string watchdog_ = "/proc/sys/kernel/nmi_watchdog";
  Lab lab_;
};

TEST_F(Quiesce, EachTrialOfAStrictPlanFindsTheMachineQuietAndItIsPutBack) {
  ASSERT_TRUE(start());
  write_plan("quiesce = \"strict\"", 5);
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(id, "done")) << status(id);
  EXPECT_EQ(lab_.trials(id).size(), 5U);
  EXPECT_EQ(wrong_trials(id), 0U);
  EXPECT_THAT(status(id), AllOf(HasSubstr("quiescing"), HasSubstr("quieted  governor (4 files), "),
                                HasSubstr("put back: ")));
  EXPECT_THAT(lab_.ctl({"report", std::to_string(id), "--full"}).out, HasSubstr("  Quiet     "));
  const json quietness =
      json::parse(lab_.ctl({"report", "--json", std::to_string(id)}).out)["quietness"];
  EXPECT_EQ(quietness["quiesce"], "strict");
  EXPECT_THAT(quietness["found"].get<std::string>(), HasSubstr(" for measurements"));
  EXPECT_THAT(quietness["changed"].get<std::string>(), HasSubstr("swappiness"));
  EXPECT_TRUE(quietness["not_made_quiet"].is_null());
  expect_everything_as_it_was();
}

TEST_F(Quiesce, TheStatusSaysWhyTheseCpus) {
  ASSERT_TRUE(start());
  write_plan("quiesce = \"off\"", 1, "60");
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(id, "done")) << status(id);
  EXPECT_THAT(status(id), AllOf(HasSubstr("why these CPUs: "), HasSubstr("the core of CPU 0"),
                                HasSubstr("doctor  "), HasSubstr(" for measurements")));
}

TEST_F(Quiesce, OnlyTheKnobsOfTheListAreChanged) {
  ASSERT_TRUE(start());
  write_plan("quiesce = \"strict\"\nknobs = [\"nmi_watchdog\"]", 3, "60");
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(id, "done")) << status(id);
  EXPECT_EQ(wrong_trials(id), 0U);
  EXPECT_THAT(status(id), HasSubstr("quieted  nmi_watchdog"));
  expect_everything_as_it_was();
}

TEST_F(Quiesce, AStrictPlanMeasuresNothingWhereAKnobRefusesAndNothingStaysChanged) {
  ASSERT_TRUE(start());
  refuse_swappiness();
  fs::remove_all(root_ + "/sys/devices/system/cpu/cpufreq");
  write_plan("quiesce = \"strict\"", 5);
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(id, "failed")) << status(id);
  EXPECT_TRUE(lab_.trials(id).empty());
  EXPECT_THAT(status(id), AllOf(HasSubstr("governor: this machine has no such setting"),
                                HasSubstr("swappiness: cannot open"),
                                HasSubstr("or use machine.quiesce = \"best-effort\"")));
  EXPECT_EQ(at(watchdog_), "1");
  EXPECT_EQ(at(swappiness_), "60");
}

TEST_F(Quiesce, ABestEffortGoesOnAndNamesWhatRefuses) {
  ASSERT_TRUE(start());
  refuse_swappiness();
  write_plan("quiesce = \"best-effort\"", 3, "60");
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(id, "done")) << status(id);
  EXPECT_EQ(wrong_trials(id), 0U);
  EXPECT_THAT(status(id),
              AllOf(HasSubstr("quieted  governor"), HasSubstr("loud     swappiness: cannot open")));
  EXPECT_EQ(at(watchdog_), "1");
  const json report = json::parse(lab_.ctl({"report", "--json", std::to_string(id)}).out);
  EXPECT_THAT(report["quietness"]["not_made_quiet"].get<std::string>(),
              HasSubstr("swappiness: cannot open"));
}

// As in a container: strict plans fail, others say what stayed loud, and nothing stays changed.
TEST_F(Quiesce, WhereSettingsAreMountedReadOnlyNothingStaysChanged) {
  if (!make_read_only("/proc/sys")) GTEST_SKIP() << "this user cannot mount";
  ASSERT_TRUE(start());
  write_plan("quiesce = \"strict\"", 3);
  const int strict = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(strict, "failed")) << status(strict);
  EXPECT_TRUE(lab_.trials(strict).empty());
  EXPECT_THAT(status(strict), HasSubstr("Read-only file system"));
  expect_everything_as_it_was();
  write_plan("quiesce = \"best-effort\"", 3, "60");
  const int best = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(best, "done")) << status(best);
  EXPECT_EQ(wrong_trials(best), 0U);
  const json report = json::parse(lab_.ctl({"report", "--json", std::to_string(best)}).out);
  EXPECT_THAT(report["quietness"]["not_made_quiet"].get<std::string>(),
              HasSubstr("Read-only file system"));
  expect_everything_as_it_was();
}

// plans/quiet.toml with fewer blocks and a stabctl for this folder, which notes what it leaves behind.
TEST_F(Quiesce, ThePlanThatAsksWhatEachKnobDoesHasOneOfThemAtATime) {
  if (geteuid() != 0) GTEST_SKIP() << "the plan is for root";
  const std::string plans = STAB_SOURCE_DIR "/plans";
  fs::copy(plans + "/programs", lab_.path("programs"));
  lab_.write("quiesce",
             "#!/bin/sh\n" STAB_BIN_DIR "/stabctl quiet \"$@\" --root " + root_ +
                 " || exit\nread s <" + root_ + swappiness_ + "\nread w <" + root_ + watchdog_ +
                 "\necho \"$*: $s $w\" >>" + lab_.path("calls") + "\n",
             true);
  const Output plan = run_program(
      {"/bin/sed", "-e", "s/^repetitions = .*/repetitions = 2/", "-e", "s/^warmup.*//", "-e",
       "s/^timeout = .*/timeout = \"600s\"/", "-e", "s/\"3000000\"/\"1000\"/", "-e", "/^check = /d",
       "-e", "s|^QUIESCE = .*|QUIESCE = \"" + lab_.path("quiesce") + "\"|", plans + "/quiet.toml"},
      "/");
  lab_.write("plan.toml", plan.out);
  const Output ran = lab_.ctl({"run", "--state", lab_.path("state"), lab_.path("plan.toml")});
  const Output text = lab_.ctl({"report", "--state", lab_.path("state"), "--json"});
  const json report = json::parse(text.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << ran.err << text.err;
  const auto knobs = std::ranges::count_if(machine::knobs(), &machine::Knob::standard);
  EXPECT_EQ(report["trials"]["ok"], 2 * (knobs + 1)) << report["failures"];
  EXPECT_EQ(report["effects"].size(), knobs) << "each is a level";
  const std::string calls = read_file(lab_.path("calls"), 1 << 20).value_or("");
  EXPECT_THAT(calls, AllOf(HasSubstr("apply --strict --knobs swappiness: 0 1\n"),
                           HasSubstr("apply --strict --knobs nmi_watchdog: 60 0\n"),
                           HasSubstr("restore: 60 1\n"), Not(HasSubstr("restore: 0")),
                           Not(HasSubstr("restore: 60 0"))));
  expect_everything_as_it_was();
}

TEST_F(Quiesce, ACancelledOrPausedExperimentLeavesTheMachineAsItWas) {
  ASSERT_TRUE(start());
  const int id = occupy();
  ASSERT_EQ(lab_.ctl({"pause", std::to_string(id)}).code, 0);
  ASSERT_TRUE(lab_.wait_for(id, "paused"));
  expect_everything_as_it_was();
  ASSERT_EQ(lab_.ctl({"resume", std::to_string(id)}).code, 0);
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  EXPECT_EQ(at(swappiness_), "0");
  ASSERT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);
  ASSERT_TRUE(lab_.wait_for(id, "cancelled"));
  expect_everything_as_it_was();
  EXPECT_EQ(wrong_trials(id), 0U);
}

TEST_F(Quiesce, AStoppedDaemonLeavesTheMachineAsItWas) {
  ASSERT_TRUE(start());
  occupy();
  lab_.end_daemon(SIGTERM);
  expect_everything_as_it_was();
}

// The trial is under way until its worker says otherwise. Between two short ones readers may have their time, and stabd
// would stop at once.
TEST_F(Quiesce, AStopThatFindsItsWorkerDeadLeavesTheMachineAsItWas) {
  lab_.write("stabd.toml", "[daemon]\nstop = \"finish\"\n");
  ASSERT_TRUE(start());
  lab_.write(
      "plan.toml",
      "[experiment]\nname = \"quiet\"\n[machine]\nquiesce = \"strict\"\n[[benchmark]]\nname = "
      "\"b\"\nrun = [\"sh\", \"-c\", \"echo >began; sleep 1000\"]\ntimeout = \"1h\"\n");
  ASSERT_NE(lab_.submit("plan.toml"), 0);
  ASSERT_TRUE(wait_for_text(lab_.path("began"), "\n"));
  EXPECT_EQ(at(swappiness_), "0");
  const pid_t worker = lab_.worker();
  ASSERT_EQ(kill(worker, SIGSTOP), 0);
  kill(lab_.daemon(), SIGTERM);
  ASSERT_TRUE(wait_for_text(lab_.path("stabd.log"), "stabd finishes the running trial"));
  kill(worker, SIGKILL);
  EXPECT_EQ(lab_.wait_for_daemon(), 0);
  expect_everything_as_it_was();
}

TEST_F(Quiesce, WhatAKilledDaemonLeftIsPutBackByTheNextOne) {
  ASSERT_TRUE(start());
  const int id = occupy();
  lab_.end_daemon(SIGKILL);
  EXPECT_EQ(at(swappiness_), "0");
  put(watchdog_, "2\n");  // somebody else's
  ASSERT_TRUE(start());
  EXPECT_TRUE(wait_for_text(lab_.path("stabd.log"), swappiness_ + " is restored"));
  EXPECT_TRUE(wait_for_text(lab_.path("stabd.log"), watchdog_ + " is foreign"));
  ASSERT_TRUE(lab_.wait_for(id, "running")) << status(id);
  ASSERT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);
  ASSERT_TRUE(lab_.wait_for(id, "cancelled"));
  EXPECT_EQ(at(watchdog_), "2");
  put(watchdog_, "1\n");
  expect_everything_as_it_was();
  EXPECT_EQ(wrong_trials(id), 0U);
}

TEST_F(Quiesce, AtWhateverInstantItIsKilledTheNextOnePutsEverythingBack) {
  ASSERT_TRUE(start());
  write_plan("quiesce = \"strict\"", 50'000);
  const int id = lab_.submit("plan.toml");
  std::mt19937 random(17);
  int changed = 0;
  for (int kill = 0; kill < times(5, 200) || changed == 0; ++kill) {
    if (kill % 2 == 0) ASSERT_TRUE(lab_.wait_for(id, "running")) << status(id);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 150));
    lab_.end_daemon(SIGKILL);
    changed += at(swappiness_) == "0" ? 1 : 0;
    ASSERT_TRUE(start()) << kill;
  }
  ASSERT_TRUE(lab_.wait_for(id, "running")) << status(id);
  ASSERT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);
  ASSERT_TRUE(lab_.wait_for(id, "cancelled"));
  expect_everything_as_it_was();
  EXPECT_EQ(wrong_trials(id), 0U);
}

TEST_F(Quiesce, WhatAKilledDaemonLeftIsPutBackByHandToo) {
  ASSERT_TRUE(start());
  occupy();
  lab_.end_daemon(SIGKILL);
  const Output back = by_hand("restore");
  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_THAT(back.out, HasSubstr("restored  swappiness"));
  expect_everything_as_it_was();
}

TEST_F(Quiesce, WhatSomebodyElseChangesMeanwhileIsSeenAndSaid) {
  ASSERT_TRUE(start());
  const int id = occupy();
  put(watchdog_, "2\n");
  const auto said = [&] {
    return status(id).contains("loud     nmi_watchdog: another program has set ");
  };
  for (int i = 0; i < 600 && !said(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_THAT(status(id), HasSubstr(watchdog_ + " to 2; seen before block "));
  EXPECT_TRUE(lab_.wait_for(id, "running"));
  ASSERT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);
  ASSERT_TRUE(lab_.wait_for(id, "cancelled"));
  const json report = json::parse(lab_.ctl({"report", "--json", std::to_string(id)}).out);
  EXPECT_THAT(report["quietness"]["not_made_quiet"].get<std::string>(),
              HasSubstr("nmi_watchdog: another program has set "));
}

TEST_F(Quiesce, OtherProcessesStayWhereThereIsOneCpu) {
  put("/sys/fs/cgroup/cpuset/cpuset.mems", "0\n");
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const bool started = start();
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_TRUE(started);
  write_plan("quiesce = \"strict\"\nknobs = [\"other_processes\"]", 3, "60");
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(id, "failed")) << status(id);
  EXPECT_THAT(status(id), HasSubstr("no CPU is left for other processes"));
}

TEST_F(Quiesce, WhatSomebodyElseChangesMeanwhileIsLeftAlone) {
  ASSERT_TRUE(start());
  const int id = occupy();
  put(watchdog_, "2\n");
  ASSERT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);
  ASSERT_TRUE(lab_.wait_for(id, "cancelled"));
  EXPECT_EQ(at(watchdog_), "2");
  EXPECT_THAT(status(id), HasSubstr("not put back: " + watchdog_ +
                                    ": another program has since changed the value to 2"));
  put(watchdog_, "1\n");
  expect_everything_as_it_was();
}

TEST_F(Quiesce, ByHandNothingIsChangedBesideAnExperimentAndWhatWasStaysAfterIt) {
  ASSERT_TRUE(start());
  ASSERT_EQ(lab_.ctl({"quiet", "apply", "--root", root_, "--knobs", "swappiness"}).code, 0);
  const int id = occupy();
  for (const char* verb : {"apply", "restore"}) {
    const Output refused = by_hand(verb);
    EXPECT_NE(refused.code, 0) << verb;
    EXPECT_THAT(refused.err, HasSubstr("another process keeps this machine quiet"));
  }
  ASSERT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);
  ASSERT_TRUE(lab_.wait_for(id, "cancelled"));
  EXPECT_EQ(at(watchdog_), "1");
  EXPECT_EQ(at(swappiness_), "0") << "that is what was asked for by hand";
  EXPECT_EQ(by_hand("restore").code, 0);
  expect_everything_as_it_was();
}

TEST_F(Quiesce, OtherProcessesAreMovedByExperimentsOnly) {
  for (const char* knob : {"other_processes", "cpu_dma_latency"}) {
    const Output refused = lab_.ctl({"quiet", "apply", "--root", root_, "--knobs", knob});
    EXPECT_NE(refused.code, 0);
    EXPECT_THAT(refused.err, HasSubstr(std::string("list ") + knob + " in machine.knobs"));
  }

  // A folder in which the kernel makes no files: what cannot be done is said, and nothing of it stays.
  put("/sys/fs/cgroup/cpuset/cpuset.mems", "0\n");
  ASSERT_TRUE(start());
  write_plan("quiesce = \"strict\"\nknobs = [\"other_processes\"]", 3, "60");
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(id, "failed")) << status(id);
  EXPECT_THAT(status(id), HasSubstr("other_processes: "));
  EXPECT_FALSE(fs::exists(root_ + "/sys/fs/cgroup/cpuset/stabd-others"));
}

TEST_F(Quiesce, StrictMeasuresNothingWhereOthersCannotBeMoved) {
  ASSERT_TRUE(start());
  write_plan("quiesce = \"strict\"\nknobs = [\"other_processes\"]", 3, "60");
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(id, "failed")) << status(id);
  EXPECT_THAT(status(id), HasSubstr("other_processes: this machine has no such setting"));
}

TEST_F(Quiesce, OnlyOneDaemonHasTheMachine) {
  ASSERT_TRUE(start());
  occupy();
  Lab other;
  ASSERT_TRUE(other.start_daemon({"--machine-root", root_}));
  write_plan("quiesce = \"strict\"", 3);
  fs::copy_file(lab_.path("plan.toml"), other.path("plan.toml"));
  const int id = other.submit("plan.toml");
  ASSERT_TRUE(other.wait_for(id, "failed"));
  EXPECT_THAT(other.ctl({"status", std::to_string(id)}).out,
              HasSubstr("another process keeps this machine quiet"));
  other.end_daemon(SIGTERM);
  EXPECT_EQ(at(swappiness_), "0") << "the first one's experiment goes on";
}

TEST_F(Quiesce, TheSettingsSayWhosePlansMayChangeTheMachine) {
  lab_.write("stabd.toml", "[machine]\nquiesce_for = \"nobody\"\n");
  ASSERT_TRUE(start());
  write_plan("quiesce = \"strict\"", 3);
  const Output refused = lab_.ctl({"submit", lab_.path("plan.toml")});
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("machine.quiesce_for = \"nobody\""),
                                 HasSubstr("use machine.quiesce = \"best-effort\"")));
  write_plan("quiesce = \"best-effort\"", 3, "60");
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(id, "done")) << status(id);
  EXPECT_EQ(wrong_trials(id), 0U);
  EXPECT_THAT(status(id), AllOf(HasSubstr("loud     plans of anybody may not change"),
                                Not(HasSubstr("quieted"))));
}

}  // namespace
}  // namespace stab::test
