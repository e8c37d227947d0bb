// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine/quiet/quiet.h"
#include "machine/quiet/tree_testing.h"

namespace stab::machine {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using What = Outcome::What;

class KeeperTest : public Tree {
 protected:
  void expect_everything_as_it_was() {
    for (const auto& [file, value] : files()) EXPECT_EQ(at(file) + "\n", value) << file;
  }
  std::vector<std::string> loud(std::span<const Outcome> outcomes) {
    std::vector<std::string> names;
    for (const Loud& each : still_loud(outcomes)) names.push_back(each.knob);
    return names;
  }
  const std::vector<const Knob*> standard_ = choose_knobs({}).value();
  const std::string folder_ = root_ + "/var/lib/stabd";
  const std::string swappiness_ = "/proc/sys/vm/swappiness";
  const std::string watchdog_ = "/proc/sys/kernel/nmi_watchdog";
};

TEST_F(KeeperTest, MakesQuietAndPutsBack) {
  Keeper keeper(folder_, root_);
  EXPECT_THAT(loud(keeper.quiesce(standard_, cpus_).value()), IsEmpty());
  EXPECT_EQ(at(swappiness_), "0");
  EXPECT_THAT(keeper.restore().value(), Each(Field(&Outcome::what, What::restored)));
  expect_everything_as_it_was();
  EXPECT_THAT(keeper.restore().value(), IsEmpty());
}

// Whether this process has the file open.
bool has_open(const std::string& path) {
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(each, gone) == path) return true;
  }
  return false;
}

class HeldTest : public KeeperTest {
 protected:
  // Two billion microseconds, as the kernel shows it.
  HeldTest() { put(file_, std::string("\x00\x94\x35\x77", 4)); }

  const std::string file_ = "/dev/cpu_dma_latency";
  const std::vector<const Knob*> knob_{find_knob("cpu_dma_latency")};
};

TEST_F(HeldTest, IsOpenForAsLongAsTheMachineIsQuiet) {
  Keeper keeper(folder_, root_);
  EXPECT_EQ(read_knob(*knob_[0], cpus_, root_).at(0).found, "2000000000");
  EXPECT_THAT(
      keeper.quiesce(knob_, cpus_).value(),
      ElementsAre(AllOf(Field(&Outcome::what, What::changed), Field(&Outcome::found, "2000000000"),
                        Field(&Outcome::value, "0"))));
  EXPECT_TRUE(has_open(root_ + file_));
  EXPECT_EQ(read_value(root_ + file_, Form::held).value(), "0");
  EXPECT_THAT(keeper.disturbed(), IsEmpty());
  EXPECT_THAT(keeper.restore().value(), ElementsAre(Field(&Outcome::what, What::restored)));
  EXPECT_FALSE(has_open(root_ + file_));
}

TEST_F(HeldTest, IsLetGoByAKillAndByNothingInTheLog) {
  const pid_t child = fork();
  if (child == 0) {
    Keeper keeper(folder_, root_);
    if (keeper.quiesce(knob_, cpus_) && has_open(root_ + file_)) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, SIGKILL);
  EXPECT_THAT(recover(folder_, root_).value(), IsEmpty());
}

TEST_F(HeldTest, IsRefusedWhereNobodyHoldsIt) {
  auto log = UndoLog::open(this->log(), root_).value();
  const auto outcomes = quiesce(log, knob_, cpus_, root_).value();
  EXPECT_THAT(outcomes, ElementsAre(AllOf(
                            Field(&Outcome::what, What::refused),
                            Field(&Outcome::reason, HasSubstr("keeps the setting's file open")))));
  EXPECT_EQ(read_value(root_ + file_, Form::held).value(), "2000000000");
  put(file_, "strange");
  EXPECT_THAT(read_knob(*knob_[0], cpus_, root_).at(0).error, HasSubstr("7 bytes"));
}

TEST_F(KeeperTest, SeesOnceWhatSomebodyElseChanges) {
  Keeper keeper(folder_, root_);
  ASSERT_TRUE(keeper.quiesce(standard_, cpus_));
  EXPECT_THAT(keeper.disturbed(), IsEmpty());
  put(swappiness_, "30\n");
  put("/proc/sys/kernel/numa_balancing", "1\n");  // it was quiet by itself
  const auto seen = keeper.disturbed();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].knob, "numa_balancing");
  EXPECT_EQ(seen[1].knob, "swappiness");
  EXPECT_EQ(seen[1].value, "30");
  EXPECT_THAT(seen[1].reason, HasSubstr("another program has set " + swappiness_ + " to 30"));
  EXPECT_THAT(keeper.disturbed(), IsEmpty());
  put(watchdog_, "1\n");
  EXPECT_THAT(keeper.disturbed(), ElementsAre(Field(&Outcome::knob, "nmi_watchdog")));
  ASSERT_TRUE(keeper.restore());
  EXPECT_THAT(keeper.disturbed(), IsEmpty());
}

// The kernel refuses to read the settings of a CPU that the knob smt has taken offline.
TEST_F(KeeperTest, SettingsOfCpusThatAreOfflineAreNotDisturbed) {
  const std::string online = "/sys/devices/system/cpu/online";
  const std::string governor = "/sys/devices/system/cpu/cpufreq/policy1/scaling_governor";
  put(online, "0-3\n");
  Keeper keeper(folder_, root_);
  ASSERT_TRUE(
      keeper.quiesce(choose_knobs(std::vector<std::string>{"governor", "smt"}).value(), cpus_));
  EXPECT_EQ(at("/sys/devices/system/cpu/smt/control"), "off");
  EXPECT_EQ(at(governor), "performance");
  std::filesystem::remove(root_ + governor);
  put(online, "0,2\n");
  EXPECT_THAT(keeper.disturbed(), IsEmpty());
  put("/sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "powersave\n");
  EXPECT_THAT(keeper.disturbed(), ElementsAre(Field(&Outcome::knob, "governor")));
  put(online, "0-3\n");
  EXPECT_THAT(keeper.disturbed(), ElementsAre(Field(&Outcome::file, governor)));
  put(governor, "performance\n");
  ASSERT_TRUE(keeper.restore());
  EXPECT_EQ(at(governor), "powersave");
}

TEST_F(KeeperTest, WhatWasChangedByHandStaysSo) {
  {
    auto by_hand = UndoLog::open(log_by_hand(folder_), root_).value();
    ASSERT_TRUE(quiesce(by_hand, choose_knobs(std::vector<std::string>{"swappiness"}).value(),
                        cpus_, root_));
  }
  Keeper keeper(folder_, root_);
  ASSERT_TRUE(keeper.quiesce(standard_, cpus_));
  EXPECT_EQ(at(watchdog_), "0");
  const auto taken = UndoLog::open(log_by_hand(folder_), root_);
  ASSERT_FALSE(taken) << "changes by hand wait until the experiment has ended";
  EXPECT_THAT(taken.error().message, HasSubstr("another process keeps this machine quiet"));
  ASSERT_TRUE(keeper.restore());
  EXPECT_EQ(at(watchdog_), "1");
  EXPECT_EQ(at(swappiness_), "0");
  auto by_hand = UndoLog::open(log_by_hand(folder_), root_).value();
  ASSERT_TRUE(restore(by_hand, root_));
  expect_everything_as_it_was();
}

TEST_F(KeeperTest, OnlyOneHasTheMachine) {
  Keeper keeper(folder_, root_);
  ASSERT_TRUE(keeper.quiesce(standard_, cpus_));
  Keeper other(folder_, root_);
  const auto refused = other.quiesce(standard_, cpus_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("another process keeps this machine quiet"));
  EXPECT_FALSE(recover(folder_, root_));
  EXPECT_THAT(other.restore().value(), IsEmpty());
  EXPECT_EQ(at(swappiness_), "0");
  ASSERT_TRUE(keeper.restore());
  EXPECT_TRUE(other.quiesce(standard_, cpus_));
  ASSERT_TRUE(other.restore());
  expect_everything_as_it_was();
}

TEST_F(KeeperTest, WhatWasLeftBehindIsPutBack) {
  EXPECT_THAT(recover(folder_, root_).value(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(folder_)) << "nobody asked for a log";
  // As one that is killed: it puts nothing back.
  ASSERT_TRUE(Keeper(folder_, root_).quiesce(standard_, cpus_));
  EXPECT_EQ(at(swappiness_), "0");
  put(watchdog_, "2\n");
  EXPECT_THAT(recover(folder_, root_).value(), Contains(Field(&Outcome::what, What::foreign)));
  EXPECT_EQ(at(swappiness_), "60");
  EXPECT_EQ(at(watchdog_), "2");
  put(watchdog_, "1\n");
  expect_everything_as_it_was();
}

TEST_F(KeeperTest, TheNextExperimentFindsTheMachineAsItWasBeforeTheKilledOne) {
  ASSERT_TRUE(Keeper(folder_, root_).quiesce(standard_, cpus_));
  Keeper keeper(folder_, root_);
  ASSERT_TRUE(keeper.quiesce(choose_knobs(std::vector<std::string>{"swappiness"}).value(), cpus_));
  EXPECT_EQ(at(swappiness_), "0");
  EXPECT_EQ(at(watchdog_), "1");
  ASSERT_TRUE(keeper.restore());
  expect_everything_as_it_was();
}

TEST_F(KeeperTest, AfterAnotherBootNothingIsPutBack) {
  ASSERT_TRUE(Keeper(folder_, root_).quiesce(standard_, cpus_));
  put("/proc/sys/kernel/random/boot_id", "5d2e\n");
  EXPECT_THAT(recover(folder_, root_).value(), IsEmpty());
  EXPECT_EQ(at(swappiness_), "0");
}

TEST_F(KeeperTest, ALogThatCannotBeWrittenChangesNothing) {
  put("/var/file", "");
  Keeper keeper(root_ + "/var/file", root_);
  EXPECT_FALSE(keeper.quiesce(standard_, cpus_));
  expect_everything_as_it_was();
  EXPECT_THAT(keeper.restore().value(), IsEmpty());
}

// A knob that is missing where that disturbs nothing leaves no noise.
TEST_F(KeeperTest, LoudIsWhatWasRefusedAndWhatIsMissingWhereItMatters) {
  std::filesystem::remove_all(root_ + "/sys/devices/system/cpu/cpufreq");
  std::filesystem::remove(root_ + "/sys/kernel/mm/ksm/run");
  std::filesystem::rename(root_ + swappiness_, root_ + "/elsewhere");
  std::filesystem::create_symlink(root_ + "/elsewhere", root_ + swappiness_);
  Keeper keeper(folder_, root_);
  const auto outcomes = keeper.quiesce(standard_, cpus_).value();
  EXPECT_THAT(loud(outcomes), ElementsAre("governor", "swappiness"));
  EXPECT_THAT(still_loud(outcomes)[0].reason, HasSubstr("no such setting"));
  EXPECT_THAT(still_loud(outcomes)[1].reason, HasSubstr("cannot open"));
  ASSERT_TRUE(keeper.restore());
}

}  // namespace
}  // namespace stab::machine
