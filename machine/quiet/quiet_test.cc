// SPDX-License-Identifier: MIT
#include "machine/quiet/quiet.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <random>

#include "base/fd.h"
#include "machine/quiet/tree_testing.h"

namespace stab::machine {
namespace {

using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using What = Outcome::What;

class QuietTest : public Tree {
 protected:
  UndoLog opened() { return UndoLog::open(log(), root_).value(); }
  std::vector<Outcome> made_quiet(UndoLog& log, const std::vector<std::string>& names = {}) {
    return quiesce(log, choose_knobs(names).value(), cpus_, root_).value();
  }
  void expect_everything_as_it_was() {
    for (const auto& [file, value] : files()) EXPECT_EQ(at(file) + "\n", value) << file;
  }
  static What what(const std::vector<Outcome>& outcomes, const std::string& knob) {
    for (const Outcome& outcome : outcomes)
      if (outcome.knob == knob) return outcome.what;
    ADD_FAILURE() << knob;
    return What::absent;
  }
  const std::string swappiness_ = "/proc/sys/vm/swappiness";
};

TEST_F(QuietTest, ChangesWhatIsLoudAndPutsItBack) {
  auto log = opened();
  const auto outcomes = made_quiet(log);
  EXPECT_EQ(at(swappiness_), "0");
  EXPECT_EQ(at("/sys/devices/system/cpu/cpufreq/policy3/scaling_governor"), "performance");
  EXPECT_EQ(at("/proc/irq/12/smp_affinity_list"), "0-1");
  EXPECT_EQ(at("/sys/devices/system/cpu/smt/control"), "on") << "not among the standard knobs";
  EXPECT_EQ(what(outcomes, "governor"), What::changed);
  EXPECT_EQ(what(outcomes, "numa_balancing"), What::quiet);
  EXPECT_EQ(what(made_quiet(log, {"thp"}), "thp"), What::absent);
  EXPECT_THAT(restore(log, root_).value(), Each(Field(&Outcome::what, What::restored)));
  expect_everything_as_it_was();
  EXPECT_THAT(log.changes(), IsEmpty());
}

TEST_F(QuietTest, FindsWhatIsLoudAndChangesNothing) {
  const auto knobs = choose_knobs(std::vector<std::string>{"irq_affinity", "ksm", "thp"}).value();
  EXPECT_EQ(to_text(loud_now(knobs, cpus_, root_)),
            "irq_affinity: /proc/irq/10/smp_affinity_list is 0-3, but its quiet value is 0-1; ksm: "
            "/sys/kernel/mm/ksm/run is 1, but its quiet value is 0");
  expect_everything_as_it_was();
  put("/sys/kernel/mm/ksm/run", "0\n");
  // Interrupts on any CPUs do no harm if trials do not use these CPUs.
  for (const char* cpu : {"0", "1", "2", "3"})
    put(std::string("/proc/irq/1") + cpu + "/smp_affinity_list", "0,3,6-7\n");
  EXPECT_TRUE(loud_now(knobs, cpus_, root_).empty());
  put("/proc/irq/13/smp_affinity_list", "2-3\n");
  EXPECT_EQ(loud_now(knobs, cpus_, root_).size(), 1U);
  put("/proc/irq/13/smp_affinity_list", "not a list\n");
  EXPECT_EQ(loud_now(knobs, cpus_, root_).size(), 1U);
}

// The tree of a service manager, as cgroup v2 shows it to a stabd that it has started.
class CgroupTest : public QuietTest {
 protected:
  CgroupTest() {
    put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n");
    put("/proc/self/cgroup", "0::/system.slice/stabd.service\n");
    for (const auto& [name, cpus] : cgroups_) put(file(name), cpus + "\n");
  }
  static std::string file(const std::string& name) {
    return "/sys/fs/cgroup/" + name + "/cpuset.cpus";
  }
  void expect_cgroups_as_they_were() {
    for (const auto& [name, cpus] : cgroups_) EXPECT_EQ(at(file(name)), cpus) << name;
  }

  const std::map<std::string, std::string> cgroups_{{"user.slice", ""},
                                                    {"init.scope", "0-3"},
                                                    {"system.slice", ""},
                                                    {"system.slice/stabd.service", ""},
                                                    {"system.slice/stabd.service/below", ""},
                                                    {"system.slice/cron.service", "0"},
                                                    {R"(system.slice/a\x2d[b]*.service)", "2-3"},
                                                    {"user.slice/user-0.slice", ""},
                                                    {"stabd-trials-01234567-8-0", ""}};
};

TEST_F(CgroupTest, AllButOurOwnKeepOffTheTrialsCpusAndAreLetGo) {
  auto log = opened();
  const auto outcomes = made_quiet(log, {"other_processes"});
  EXPECT_EQ(at(file("user.slice")), "0-1");
  EXPECT_EQ(at(file("init.scope")), "0-1");
  EXPECT_EQ(at(file("system.slice/cron.service")), "0") << "it is kept to fewer already";
  EXPECT_EQ(at(file(R"(system.slice/a\x2d[b]*.service)")), "0-1");
  // Ours, those above and below it; what its parent confines anyway; and the trials' own.
  for (const char* name :
       {"system.slice", "system.slice/stabd.service", "system.slice/stabd.service/below",
        "user.slice/user-0.slice", "stabd-trials-01234567-8-0"})
    EXPECT_EQ(at(file(name)), "") << name;
  EXPECT_EQ(outcomes.size(), 4U);
  EXPECT_THAT(restore(log, root_).value(), Each(Field(&Outcome::what, What::restored)));
  expect_cgroups_as_they_were();
}

TEST_F(CgroupTest, ALogThatAKilledOneLeftLetsThemGo) {
  {
    auto log = opened();
    made_quiet(log, {"other_processes"});
  }
  put(file("user.slice"), "1\n");
  auto log = opened();
  EXPECT_THAT(restore(log, root_).value(), Contains(Field(&Outcome::what, What::foreign)));
  EXPECT_EQ(at(file("user.slice")), "1");
  EXPECT_EQ(at(file("init.scope")), "0-3");
}

TEST_F(CgroupTest, OneThatEndsMeanwhileLeavesNothingInTheLog) {
  auto log = opened();
  made_quiet(log, {"other_processes"});
  std::filesystem::remove_all(root_ + "/sys/fs/cgroup/init.scope");
  const auto outcomes = restore(log, root_).value();
  EXPECT_THAT(outcomes, Contains(Field(&Outcome::what, What::absent)));
  EXPECT_THAT(outcomes, Not(Contains(Field(&Outcome::what, What::refused))));
  EXPECT_TRUE(log.changes().empty());
  EXPECT_EQ(at(file("user.slice")), "");
}

TEST_F(CgroupTest, InTheRootEveryOtherCgroupIsOne) {
  put("/proc/self/cgroup", "0::/\n");
  auto log = opened();
  made_quiet(log, {"other_processes"});
  EXPECT_EQ(at(file("system.slice")), "0-1");
  EXPECT_EQ(at(file("user.slice")), "0-1");
  EXPECT_EQ(at(file("stabd-trials-01234567-8-0")), "");
  restore(log, root_).value();
  expect_cgroups_as_they_were();
}

TEST_F(CgroupTest, WhereTrialsNeedAllCpusNobodyIsConfined) {
  cpus_ = {.trial = {0, 1, 2, 3}, .others = {0, 1, 2, 3}, .idle = {}, .shared = true};
  auto log = opened();
  EXPECT_THAT(made_quiet(log, {"other_processes"}), Each(Field(&Outcome::what, What::refused)));
  expect_cgroups_as_they_were();
}

// Below /sys/fs/cgroup version 1 has a folder for each controller, which are no cgroups.
TEST_F(CgroupTest, OfVersion1NothingIsTaken) {
  std::filesystem::remove(root_ + "/sys/fs/cgroup/cgroup.controllers");
  put("/sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n");
  auto log = opened();
  EXPECT_EQ(what(made_quiet(log, {"other_processes"}), "other_processes"), What::absent);
  expect_cgroups_as_they_were();
}

TEST_F(CgroupTest, NoLogMakesUsWriteToWhatIsNoCgroupsCpus) {
  EXPECT_NE(files_of("other_processes", file("a")), nullptr);
  EXPECT_NE(files_of("other_processes", file("a/b/c")), nullptr);
  for (const char* other : {"/sys/fs/cgroup/cpuset.cpus", "/sys/fs/cgroup/a/../../cpuset.cpus",
                            "/sys/fs/cgroup/a/cpuset.mems", "/etc/a/cpuset.cpus"})
    EXPECT_EQ(files_of("other_processes", other), nullptr) << other;
}

TEST_F(QuietTest, ASecondTimeChangesNothing) {
  auto log = opened();
  made_quiet(log);
  const auto before = log.changes().size();
  for (const Outcome& outcome : made_quiet(log))
    EXPECT_EQ(outcome.what, What::quiet) << outcome.file;
  EXPECT_EQ(log.changes().size(), before);
  restore(log, root_).value();
  expect_everything_as_it_was();
}

TEST_F(QuietTest, WhatSomebodyElseHasSetSinceStays) {
  auto log = opened();
  made_quiet(log);
  put(swappiness_, "10\n");
  const auto outcomes = restore(log, root_).value();
  EXPECT_EQ(what(outcomes, "swappiness"), What::foreign);
  EXPECT_EQ(at(swappiness_), "10");
  EXPECT_EQ(at("/proc/sys/kernel/nmi_watchdog"), "1");
  EXPECT_THAT(log.changes(), IsEmpty());
}

TEST_F(QuietTest, WhatSomebodyElseHasSetInBetweenComesBack) {
  auto log = opened();
  made_quiet(log, {"swappiness"});
  put(swappiness_, "10\n");
  made_quiet(log, {"swappiness"});
  EXPECT_EQ(at(swappiness_), "0");
  restore(log, root_).value();
  EXPECT_EQ(at(swappiness_), "10");
}

TEST_F(QuietTest, WhatRefusesIsNamedAndTheRestGoesOn) {
  // A link is never followed for writing.
  std::filesystem::rename(root_ + swappiness_, root_ + "/elsewhere");
  std::filesystem::create_symlink(root_ + "/elsewhere", root_ + swappiness_);
  auto log = opened();
  const auto outcomes = made_quiet(log);
  EXPECT_EQ(what(outcomes, "swappiness"), What::refused);
  EXPECT_EQ(what(outcomes, "nmi_watchdog"), What::changed);
  EXPECT_EQ(at("/elsewhere"), "60");
  EXPECT_THAT(restore(log, root_).value(), Each(Field(&Outcome::what, What::restored)));
}

TEST_F(QuietTest, WhatCannotBePutBackStaysInTheLog) {
  auto log = opened();
  made_quiet(log);
  std::filesystem::rename(root_ + swappiness_, root_ + "/elsewhere");
  EXPECT_EQ(what(restore(log, root_).value(), "swappiness"), What::refused);
  std::filesystem::rename(root_ + "/elsewhere", root_ + swappiness_);
  restore(log, root_).value();
  expect_everything_as_it_was();
}

TEST_F(QuietTest, WhatWasPutBackIsForgottenAlsoBesideWhatCannotBe) {
  const std::string watchdog = "/proc/sys/kernel/nmi_watchdog";
  {
    auto log = opened();
    made_quiet(log);
    std::filesystem::rename(root_ + swappiness_, root_ + "/elsewhere");
    restore(log, root_).value();
    EXPECT_EQ(log.changes().size(), 1U);
    EXPECT_EQ(at(watchdog), "1");
  }
  std::filesystem::rename(root_ + "/elsewhere", root_ + swappiness_);
  put(watchdog, "0\n");  // somebody wants what we had set
  auto log = opened();
  ASSERT_EQ(log.changes().size(), 1U);
  EXPECT_EQ(log.damaged(), 0U);
  EXPECT_EQ(log.changes().front().file, swappiness_);
  restore(log, root_).value();
  EXPECT_EQ(at(watchdog), "0");
  EXPECT_EQ(at(swappiness_), "60");
  EXPECT_THAT(log.changes(), IsEmpty());
}

TEST_F(QuietTest, NothingIsForgottenBesideALineThatIsNotOurs) {
  {
    auto log = opened();
    made_quiet(log);
  }
  std::ofstream(Tree::log(), std::ios::app) << "nonsense\n";
  auto log = opened();
  std::filesystem::rename(root_ + swappiness_, root_ + "/elsewhere");
  EXPECT_EQ(what(restore(log, root_).value(), "swappiness"), What::refused);
  std::filesystem::rename(root_ + "/elsewhere", root_ + swappiness_);
  restore(log, root_).value();
  expect_everything_as_it_was();
  EXPECT_THAT(log.changes(), IsEmpty());
}

TEST_F(QuietTest, WhatWasQuietBeforeAMarkStaysSo) {
  {
    auto log = opened();
    made_quiet(log, {"swappiness"});
    const UndoLog::Mark before = log.mark();
    made_quiet(log, {"nmi_watchdog"});
    restore(log, root_, before).value();
    EXPECT_EQ(at("/proc/sys/kernel/nmi_watchdog"), "1");
    EXPECT_EQ(at(swappiness_), "0");
  }
  auto log = opened();
  EXPECT_EQ(log.changes().size(), 1U);
  restore(log, root_).value();
  expect_everything_as_it_was();
}

TEST_F(QuietTest, NobodyElseCanLockTheLog) {
  const auto log = opened();
  struct stat status{};
  ASSERT_EQ(stat(Tree::log().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  ASSERT_EQ(stat((root_ + "/var").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(QuietTest, OneProcessAtATime) {
  const auto log = opened();
  const auto second = UndoLog::open(Tree::log(), root_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another process"));
}

TEST_F(QuietTest, AfterARebootNothingIsPutBack) {
  {
    auto log = opened();
    made_quiet(log);
  }
  put("/proc/sys/kernel/random/boot_id", "77aa\n");
  auto log = opened();
  EXPECT_THAT(log.changes(), IsEmpty());
  EXPECT_THAT(restore(log, root_).value(), IsEmpty());
  EXPECT_EQ(at(swappiness_), "0");
}

TEST_F(QuietTest, TheNextProcessPutsBackWhatOneLeft) {
  {
    auto log = opened();
    made_quiet(log);
  }
  auto log = opened();
  restore(log, root_).value();
  expect_everything_as_it_was();
}

TEST_F(QuietTest, AHalfLineChangedNothing) {
  {
    auto log = opened();
    made_quiet(log);
  }
  std::ofstream(log(), std::ios::app) << R"({"file":"/proc/sys/vm/swapp)";
  auto log = opened();
  EXPECT_EQ(log.damaged(), 0U);
  restore(log, root_).value();
  expect_everything_as_it_was();
}

TEST_F(QuietTest, ALineThatIsNotOursIsNamedAndKeptAndTheRestIsPutBack) {
  {
    auto log = opened();
    made_quiet(log);
  }
  std::string text = read_file(log(), 1 << 20).value();
  const auto at_value = text.find("powersave");
  ASSERT_NE(at_value, std::string::npos);
  text[at_value] = 'q';
  // A change of a file that is no knob's, with a digest that fits nothing.
  text += R"({"file":"/etc/passwd","found":"x","knob":"swappiness","set":"y"} 0123456789abcdef)"
          "\n";
  std::ofstream(log()) << text;
  auto log = opened();
  EXPECT_EQ(log.damaged(), 2U);
  const auto outcomes = restore(log, root_).value();
  EXPECT_THAT(outcomes.back().reason, HasSubstr("2 lines of the log"));
  EXPECT_EQ(read_file(Tree::log() + ".damaged", 1 << 20).value(), text);
  EXPECT_EQ(at(swappiness_), "60");
  EXPECT_EQ(log.damaged(), 0U);
}

TEST_F(QuietTest, NamesAreChecked) {
  EXPECT_THAT(choose_knobs(std::vector<std::string>{"govenor"}).error().message,
              HasSubstr("did you mean governor?"));
  EXPECT_EQ(choose_knobs(std::vector<std::string>{"thp", "boost"}).value().size(), 2U);
}

// Whoever ends at whatever moment: the next one puts everything back, and nothing that somebody else has set.
TEST_F(QuietTest, TwoHundredKills) {
  std::mt19937 random(20250611);
  std::uniform_int_distribution<useconds_t> moment(0, 6000);
  int interrupted = 0;
  for (int kill_number = 0; kill_number < 200; ++kill_number) {
    std::array<int, 2> begun{};
    ASSERT_EQ(pipe(begun.data()), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (;;) {
        auto log = opened();
        const auto tell = [&](bool now) {
          if (now && write(begun[1], "x", 1) != 1) _exit(1);
        };
        // The moment counts from before the changes, or from before they go back.
        tell(kill_number % 2 == 0);
        made_quiet(log);
        tell(kill_number % 2 != 0);
        restore(log, root_).value();
      }
    }
    char byte = 0;
    ASSERT_EQ(read(begun[0], &byte, 1), 1);
    usleep(moment(random));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    for (const int end : begun) close(end);
    const bool by_others = kill_number % 4 == 0;
    if (by_others) put(swappiness_, "33\n");
    auto log = opened();
    EXPECT_EQ(log.damaged(), 0U);
    interrupted += log.changes().empty() ? 0 : 1;
    restore(log, root_).value();
    EXPECT_THAT(log.changes(), IsEmpty());
    if (by_others) {
      EXPECT_EQ(at(swappiness_), "33");
      put(swappiness_, "60\n");
    }
    expect_everything_as_it_was();
    ASSERT_FALSE(HasFailure()) << "kill " << kill_number;
  }
  EXPECT_GT(interrupted, 20) << "hardly any kill fell between a change and its return";
}

}  // namespace
}  // namespace stab::machine
