// SPDX-License-Identifier: MIT
// Commands that are told what became of an experiment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "base/fd.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class Notices : public ::testing::Test {
 protected:
  // The command appends what it is told to a file.
  void SetUp() override {
    lab_.write("tell.sh", "#!/bin/sh\ncat >>" + told_file() + "\n", true);
    lab_.write("told", "");
  }
  std::string told_file() const { return lab_.path("told"); }
  void settings(const std::string& command, const std::string& more = "") const {
    lab_.write("stabd.toml", "[notify]\ncommand = [\"" + command + "\"]\n" + more);
  }
  std::string plan(const std::string& name, const std::string& run, const std::string& more = "",
                   const std::string& in_experiment = "") const {
    lab_.write(name + ".toml", "[experiment]\nname = \"" + name + "\"\n" + in_experiment +
                                   "[[benchmark]]\nname = \"b\"\nrun = [\"sh\", \"-c\", \"" + run +
                                   "\"]\nrepetitions = 3\n" + more);
    return name + ".toml";
  }
  // What was told, when there are so many notices.
  std::vector<json> told(std::size_t count) const {
    for (int i = 0; i < 3000; ++i) {
      std::vector<json> all;
      std::istringstream lines(read_file(told_file(), 1 << 20).value_or(""));
      for (std::string line; std::getline(lines, line);)
        all.push_back(json::parse(line, nullptr, false));
      if (all.size() >= count) return all;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return {};
  }
  bool wait_for_event(int id, const std::string& text) const {
    for (int i = 0; i < 3000; ++i) {
      const json status =
          json::parse(lab_.ctl({"status", "--json", std::to_string(id)}).out, nullptr, false);
      if (status.dump().contains(text)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  void wait_for_file(const std::string& name) const {
    for (int i = 0; i < 3000 && !std::filesystem::exists(lab_.path(name)); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_TRUE(std::filesystem::exists(lab_.path(name))) << name;
  }

  // The file has a line like "Cpus_allowed_list:\t0-3,8".
  std::set<int> cpus_in(const std::string& name) const {
    std::set<int> cpus;
    std::istringstream list(read_file(lab_.path(name), 1000).value_or(""));
    list.ignore(1000, '\t');
    for (std::string part; std::getline(list, part, ',');) {
      int first = 0;
      int last = 0;
      const int read = std::sscanf(part.c_str(), "%d-%d", &first, &last);
      for (int cpu = first; read > 0 && cpu <= (read == 2 ? last : first); ++cpu) cpus.insert(cpu);
    }
    return cpus;
  }

  // Of which its parent need not know yet.
  static bool gets_ended(const std::string& pid) {
    const std::string file = "/proc/" + std::to_string(std::atoi(pid.c_str())) + "/stat";
    for (int i = 0; i < 3000; ++i) {
      const auto status = read_file(file, 4096);
      if (!status || status->contains(") Z ")) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  Lab lab_;
};

TEST_F(Notices, TheEndOfAnExperimentIsToldWithItsVerdict) {
  settings(lab_.path("tell.sh"));
  lab_.write("took.sh", took_script(), true);
  lab_.write("compared.toml",
             printing_plan("compared", R"({ short = { NS = "100" }, long = { NS = "1000" } })", 4,
                           "[design]\nkind = \"one-way\"\n"));
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("compared.toml");
  const auto all = told(1);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["event"], "done");
  EXPECT_EQ(all[0]["id"], id);
  EXPECT_EQ(all[0]["name"], "compared");
  EXPECT_EQ(all[0]["state"], "done");
  EXPECT_EQ(all[0]["user"], geteuid());
  EXPECT_EQ(all[0]["trials"]["total"], 8);
  EXPECT_EQ(all[0]["trials"]["ok"], 8);
  EXPECT_EQ(all[0]["verdict"], "regressed");
}

TEST_F(Notices, FailuresAndCancellationsAreToldAndTroubleAloneIfThatIsAskedFor) {
  settings(lab_.path("tell.sh"), "when = \"trouble\"\n");
  ASSERT_TRUE(lab_.start_daemon());
  const int good = lab_.submit(plan("good", "true"));
  ASSERT_TRUE(lab_.wait_until_final(good));
  const int waits = lab_.submit(plan("waits", "sleep 1000"));
  ASSERT_TRUE(lab_.wait_for(waits, "running"));
  ASSERT_EQ(lab_.ctl({"cancel", std::to_string(waits)}).code, 0);
  lab_.write(
      "bad.toml",
      "[experiment]\nname = \"bad\"\n[defaults]\non_build_failure = \"fail-experiment\"\n"
      "[[benchmark]]\nname = \"b\"\nbuild = \"exit 3 # ${OUT}\"\nsources = [\"tell.sh\"]\nrun = "
      "[\"${OUT}\"]\n");
  lab_.submit("bad.toml");
  const auto all = told(1);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["event"], "failed");
  EXPECT_EQ(all[0]["name"], "bad");
  EXPECT_THAT(all[0]["reason"].get<std::string>(), HasSubstr("the build of 'b' failed"));
}

TEST_F(Notices, ATrialOverItsLimitsIsToldOnceAnExperiment) {
  settings(lab_.path("tell.sh"));
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit(
      plan("large", "exec head -c 200000 /dev/zero >large.out", "file_limit = \"100kB\"\n"));
  ASSERT_TRUE(lab_.wait_until_final(id));
  const auto all = told(2);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["event"], "over-limit");
  EXPECT_EQ(all[0]["state"], "running");
  EXPECT_THAT(all[0]["reason"].get<std::string>(), HasSubstr("wrote more than its limit"));
  EXPECT_EQ(all[1]["event"], "done");
  EXPECT_EQ(all[1]["trials"]["failed"], 3);
}

TEST_F(Notices, ATrialOverItsLimitsIsToldOnceAlsoWhenStabdIsKilled) {
  settings(lab_.path("tell.sh"));
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit(
      plan("large",
           "if [ -e first ]; then until [ -e go ]; do sleep 0.02; done; fi; touch first; "
           "exec head -c 200000 /dev/zero >large.out",
           "file_limit = \"100kB\"\n"));
  EXPECT_EQ(told(1).size(), 1U);
  lab_.end_daemon(SIGKILL);
  ASSERT_TRUE(lab_.start_daemon());
  lab_.write("go", "");
  ASSERT_TRUE(lab_.wait_until_final(id));
  const auto all = told(2);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["event"], "over-limit");
  EXPECT_EQ(all[1]["event"], "done");
}

// The state folder is a disk of its own.
class NoticesOfAFullDisk : public Notices {
 protected:
  void SetUp() override {
    Notices::SetUp();
    if (geteuid() != 0) GTEST_SKIP() << "only root can make a small disk";
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      GTEST_SKIP() << "mounts of our own are not allowed here";
    std::filesystem::create_directories(lab_.path("state"));
    ASSERT_EQ(mount("tmpfs", lab_.path("state").c_str(), "tmpfs", 0, "size=8m,mode=700"), 0);
    mounted_ = true;
    settings(lab_.path("tell.sh"));
    ASSERT_TRUE(lab_.start_daemon());
  }
  void TearDown() override {
    if (!mounted_) return;
    lab_.end_daemon(SIGTERM);
    umount2(lab_.path("state").c_str(), MNT_DETACH);
  }
  void fill() const {
    const Output filled = run_program(
        {"/bin/dd", "if=/dev/zero", "of=" + lab_.path("state/large"), "bs=4k"}, lab_.folder());
    EXPECT_NE(filled.code, 0);
  }

 private:
  bool mounted_ = false;
};

TEST_F(NoticesOfAFullDisk, ItIsToldBeforeTheFirstTrialToo) {
  const int id = lab_.submit(plan("one", "touch began; until [ -e go ]; do sleep 0.02; done"));
  wait_for_file("began");
  lab_.end_daemon(SIGKILL);
  fill();
  ASSERT_TRUE(lab_.start_daemon());
  const auto first = told(1);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0]["event"], "paused");
  std::filesystem::remove(lab_.path("state/large"));
  lab_.write("go", "");
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(told(2).size(), 2U);
}

TEST_F(NoticesOfAFullDisk, ItIsToldOnce) {
  const int id = lab_.submit(plan("fills", "until [ -e go ]; do sleep 0.02; done"));
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  fill();
  lab_.write("go", "");
  const auto first = told(1);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0]["event"], "paused");
  EXPECT_EQ(first[0]["state"], "paused");
  std::filesystem::remove(lab_.path("state/large"));
  ASSERT_TRUE(lab_.wait_until_final(id));
  const auto all = told(2);
  EXPECT_EQ(all.size(), 2U);
  EXPECT_EQ(all.back()["event"], "done");
}

TEST_F(Notices, AFailureOfTheCommandIsStoredAndNothingElseIsDisturbed) {
  lab_.write("fails.sh", "#!/bin/sh\ntouch " + lab_.path("called") + "\nexit 7\n", true);
  settings(lab_.path("fails.sh"));
  ASSERT_TRUE(lab_.start_daemon());
  const int one = lab_.submit(plan("one", "true"));
  ASSERT_TRUE(wait_for_event(one, "the notice's command ended with exit code 7"));
  EXPECT_EQ(lab_.state(one), "done");
  EXPECT_TRUE(std::filesystem::exists(lab_.path("called")));
  settings("/there/is/no/such/program");
  lab_.end_daemon(SIGTERM);
  ASSERT_TRUE(lab_.start_daemon());
  const int two = lab_.submit(plan("two", "true"));
  EXPECT_TRUE(wait_for_event(two, "the notice's command ended with exit code 127"));
}

TEST_F(Notices, ACommandThatDoesNotEndIsEndedWithAllThatItStarted) {
  // The next experiment's command leaves alone what the first one's has written.
  lab_.write("hangs.sh",
             "#!/bin/sh\ncd " + lab_.folder() + "\nsleep 987654 &\n" +
                 "[ -e child ] || { echo $! >child.new && mv child.new child; }\nwait\n",
             true);
  settings(lab_.path("hangs.sh"), "time_limit = \"8s\"\n");
  ASSERT_TRUE(lab_.start_daemon({"--no-namespaces"}));
  const int id = lab_.submit(plan("one", "true"));
  // It holds nobody up meanwhile.
  ASSERT_TRUE(lab_.wait_until_final(lab_.submit(plan("next", "true"))));
  ASSERT_TRUE(wait_for_event(id, "the notice's command took longer than 8 s and was killed"));
  const std::string child = read_file(lab_.path("child"), 100).value_or("");
  ASSERT_GT(atoi(child.c_str()), 0);
  EXPECT_TRUE(gets_ended(child));
}

TEST_F(Notices, WhatIsNotSentWhenStabdStopsIsStoredToo) {
  lab_.write("hangs.sh", "#!/bin/sh\ntouch " + lab_.path("called") + "\nsleep 987652\n", true);
  settings(lab_.path("hangs.sh"), "time_limit = \"24h\"\n");
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(lab_.wait_until_final(lab_.submit(plan("one", "true"))));
  wait_for_file("called");
  kill(lab_.daemon(), SIGTERM);
  ASSERT_TRUE(wait_for_text(lab_.path("stabd.log"), "a second signal ends the wait"));
  kill(lab_.daemon(), SIGTERM);
  EXPECT_EQ(lab_.wait_for_daemon(), 0);
  settings(lab_.path("tell.sh"));
  ASSERT_TRUE(lab_.start_daemon());
  EXPECT_TRUE(wait_for_event(1, "the notice is not sent: stabd is stopping"));
}

TEST_F(Notices, AreWaitedForWhenStabdStops) {
  lab_.write("slow.sh",
             "#!/bin/sh\ntouch " + lab_.path("called") + "\nsleep 0.5\ncat >>" + told_file() + "\n",
             true);
  settings(lab_.path("slow.sh"));
  ASSERT_TRUE(lab_.start_daemon());
  lab_.submit(plan("one", "true"));
  wait_for_file("called");
  kill(lab_.daemon(), SIGTERM);
  EXPECT_EQ(lab_.wait_for_daemon(), 0);
  EXPECT_EQ(told(1).size(), 1U);
}

TEST_F(Notices, AreSentAlsoOfWhatEndsWithStabd) {
  settings(lab_.path("tell.sh"));
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit(plan("waits", "touch began; sleep 1000"));
  wait_for_file("began");
  const pid_t worker = lab_.worker();
  ASSERT_EQ(kill(worker, SIGSTOP), 0);  // the experiment cannot end before the signal comes
  const pid_t cancelling = start_program({std::string(STAB_BIN_DIR) + "/stabctl", "--socket",
                                          lab_.path("s.sock"), "cancel", std::to_string(id)},
                                         lab_.folder(), lab_.path("cancelling"));
  ASSERT_TRUE(wait_for_text(lab_.path("stabd.log"), "running -> cancelled"));
  kill(lab_.daemon(), SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(worker, SIGCONT);
  EXPECT_EQ(lab_.wait_for_daemon(), 0);
  end_of(cancelling);
  const auto all = told(1);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["event"], "cancelled");
}

TEST_F(Notices, ARunWithoutADaemonEndsWhenTheyAreSent) {
  lab_.write("slow.sh", "#!/bin/sh\nsleep 0.5\ncat >>" + told_file() + "\n", true);
  plan("one", "true", "", "notify = [\"./slow.sh\"]\n");
  const Output ran = run_program({std::string(STAB_BIN_DIR) + "/stabctl", "run", "--state",
                                  lab_.path("own"), lab_.path("one.toml")},
                                 lab_.folder());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(read_file(told_file(), 65536).value_or(""), HasSubstr("\"event\":\"done\""));
}

TEST_F(Notices, AnExperimentHasACommandOfItsOwnWithItsUsersRights) {
  const std::string own = "notify = [\"./tell.sh\"]\n";
  ASSERT_TRUE(lab_.start_daemon());
  lab_.write("tell.sh",
             "#!/bin/sh\ncat >>" + told_file() + "\ngrep NoNewPrivs /proc/self/status >" +
                 lab_.path("rights") + "\n",
             true);
  const int id = lab_.submit(plan("one", "true", "", own));
  const auto all = told(1);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["id"], id);
  EXPECT_EQ(all[0]["event"], "done");
  EXPECT_TRUE(wait_for_text(lab_.path("rights"), "NoNewPrivs:\t1\n"));
  // One that never began is told of, too.
  ASSERT_EQ(lab_.ctl({"pause", "--queue"}).code, 0);
  const int waits = lab_.submit(plan("two", "true", "", own));
  ASSERT_EQ(lab_.ctl({"cancel", std::to_string(waits)}).code, 0);
  const auto both = told(2);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[1]["event"], "cancelled");
  EXPECT_TRUE(both[1]["verdict"].is_null());
}

TEST_F(Notices, TheirCommandsStayOffTheTrialsCpu) {
  lab_.write("tell.sh",
             "#!/bin/sh\ngrep Cpus_allowed_list /proc/self/status >" + lab_.path("cpus") +
                 "\ncat >>" + told_file() + "\n",
             true);
  settings(lab_.path("tell.sh"));
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit(plan("one", "grep Cpus_allowed_list /proc/self/status >trial.cpus"));
  ASSERT_EQ(told(1).size(), 1U);
  const json status = json::parse(lab_.ctl({"status", "--json", std::to_string(id)}).out);
  if (status.dump().contains("there are no others")) GTEST_SKIP() << "there is one CPU";
  const std::set<int> theirs = cpus_in("cpus");
  const std::set<int> trials = cpus_in("trial.cpus");
  EXPECT_FALSE(theirs.empty());
  ASSERT_EQ(trials.size(), 1U);
  EXPECT_FALSE(theirs.contains(*trials.begin()));
}

}  // namespace
}  // namespace stab::test
