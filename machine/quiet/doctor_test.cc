// SPDX-License-Identifier: MIT
#include "machine/quiet/doctor.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "machine/quiet/tree_testing.h"

namespace stab::machine {
namespace {

using testing::HasSubstr;

class DoctorTest : public Tree {
 protected:
  Finding finding(const std::string& name, const char* machine = "Package:1 Core:2 PU:2") {
    const auto findings = examine(Topology::synthetic(machine).value(), root_);
    const auto found = std::ranges::find(findings, name, &Finding::name);
    if (found != findings.end()) return *found;
    ADD_FAILURE() << "nothing about " << name;
    return {};
  }
};

TEST_F(DoctorTest, AKnobThatIsLoudIsMendedByACommand) {
  const Finding found = finding("swappiness");
  EXPECT_EQ(found.grade, Grade::fair);
  EXPECT_EQ(found.found, "60");
  EXPECT_THAT(found.mend, HasSubstr("echo 0 | sudo tee /proc/sys/vm/swappiness"));
  put("/proc/sys/vm/swappiness", "0\n");
  EXPECT_EQ(finding("swappiness").grade, Grade::good);
  EXPECT_EQ(finding("swappiness").mend, "");
}

TEST_F(DoctorTest, ManyFilesOfAKnobAreOneFinding) {
  const Finding found = finding("governor");
  EXPECT_EQ(found.grade, Grade::poor);
  EXPECT_THAT(found.found, HasSubstr("4 of 4"));
  EXPECT_THAT(found.mend, HasSubstr("quiesce apply --knobs governor"));
}

TEST_F(DoctorTest, WhatTheMachineLacksIsSaid) {
  std::filesystem::remove_all(root_ + "/sys/devices/system/cpu/cpufreq");
  EXPECT_EQ(finding("governor").grade, Grade::fair);
  EXPECT_EQ(finding("governor").found, "not on this machine");
  EXPECT_EQ(finding("thp").grade, Grade::good);
}

TEST_F(DoctorTest, Cpus) {
  EXPECT_EQ(finding("cpus", "Package:1 Core:1 PU:1").grade, Grade::poor);
  EXPECT_EQ(finding("cpus", "Package:1 Core:1 PU:2").grade, Grade::fair);
  EXPECT_EQ(finding("cpus", "Package:1 Core:2 PU:2").grade, Grade::good);
  EXPECT_EQ(finding("cpus", "Package:1 Core:2 PU:2").found,
            "trials on 2, everything else on 0-1: they are not in the core of CPU 0, where the "
            "kernel's own work tends to be; each has a core of its own, whose other CPUs (3) stay "
            "idle");
}

TEST_F(DoctorTest, AVirtualMachineAndWhatItsHostTakes) {
  EXPECT_EQ(finding("host").grade, Grade::good);
  put("/proc/cpuinfo", "flags\t: fpu hypervisor lm\n");
  put("/proc/stat", "cpu  900 0 100 5000 0 0 0 0 0 0\n");
  EXPECT_EQ(finding("host").grade, Grade::fair);
  put("/proc/stat", "cpu  900 0 50 5000 0 0 0 50 0 0\n");
  EXPECT_EQ(finding("host").grade, Grade::poor);
  EXPECT_THAT(finding("host").found, HasSubstr("5 %"));
}

TEST_F(DoctorTest, LoadAgainstTheCpus) {
  put("/proc/loadavg", "0.10 0.2 0.3 1/100 9\n");
  EXPECT_EQ(finding("load").grade, Grade::good);
  put("/proc/loadavg", "1.10 0.2 0.3 1/100 9\n");
  EXPECT_EQ(finding("load").grade, Grade::fair);
  put("/proc/loadavg", "3.10 0.2 0.3 1/100 9\n");
  EXPECT_EQ(finding("load").grade, Grade::poor);
}

TEST_F(DoctorTest, ClockHeatPowerSwapAndCounters) {
  put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
  EXPECT_EQ(finding("clock").grade, Grade::fair);
  put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  EXPECT_EQ(finding("clock").grade, Grade::good);
  put("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "0\n");
  EXPECT_EQ(finding("heat").grade, Grade::good);
  put("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "7\n");
  EXPECT_THAT(finding("heat").found, HasSubstr("7 times"));
  put("/sys/class/power_supply/AC/type", "Mains\n");
  put("/sys/class/power_supply/AC/online", "0\n");
  EXPECT_EQ(finding("power").grade, Grade::poor);
  put("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 8000000 204800 -2\n");
  EXPECT_THAT(finding("swap").found, HasSubstr("200 MiB"));
  EXPECT_EQ(finding("counters").grade, Grade::fair);
  put("/sys/bus/event_source/devices/cpu/type", "4\n");
  EXPECT_EQ(finding("counters").grade, Grade::good);
  put("/proc/sys/kernel/perf_event_paranoid", "3\n");
  EXPECT_EQ(finding("counting").grade, Grade::fair);
  put("/proc/sys/kernel/perf_event_paranoid", "1\n");
  EXPECT_EQ(finding("counting").grade, Grade::good);
}

TEST_F(DoctorTest, Isolation) {
  EXPECT_EQ(finding("isolation").found, "none");
  put("/sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n");
  EXPECT_THAT(finding("isolation").found, HasSubstr("v1"));
  put("/sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  EXPECT_THAT(finding("isolation").found, HasSubstr("v1"));
  put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory\n");
  EXPECT_THAT(finding("isolation").found, HasSubstr("v2, which are off"));
  EXPECT_THAT(finding("isolation").mend,
              HasSubstr("echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control"));
  put("/sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu\n");
  EXPECT_EQ(finding("isolation").found, "cpusets of cgroup v2");
  EXPECT_THAT(finding("isolation").mend, HasSubstr("name other_processes in a plan's"));
  put("/sys/devices/system/cpu/isolated", "2-3\n");
  EXPECT_EQ(finding("isolation").grade, Grade::good);
}

TEST_F(DoctorTest, TheWorstFindingIsTheMachines) {
  EXPECT_EQ(overall(examine(Topology::synthetic("Package:1 Core:2 PU:2").value(), root_)),
            Grade::poor);
  EXPECT_EQ(overall({}), Grade::good);
}

// Of whatever machine this is: every finding is whole.
TEST(Doctor, ThisMachine) {
  for (const Finding& finding : examine(Topology::load().value())) {
    EXPECT_FALSE(finding.found.empty()) << finding.name;
    if (finding.grade != Grade::good) EXPECT_FALSE(finding.meaning.empty()) << finding.name;
  }
}

}  // namespace
}  // namespace stab::machine
