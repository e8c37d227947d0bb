// SPDX-License-Identifier: MIT
#include "machine/quiet/doctor.h"

#include <gmock/gmock.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "machine/quiet/tree_testing.h"

namespace stab::machine {
namespace {

using testing::HasSubstr;
using testing::Not;

class DoctorTest : public Tree {
 protected:
  Finding finding(const std::string& name, const char* machine = "Package:1 Core:2 PU:2") {
    const auto findings = examine(Topology::synthetic(machine).value(), root_);
    const auto found = std::ranges::find(findings, name, &Finding::name);
    if (found != findings.end()) return *found;
    ADD_FAILURE() << "nothing about " << name;
    return {};
  }
  // As somebody sees this machine who has no right to change it.
  Finding finding_of_a_user(const std::string& name) {
    if (geteuid() != 0) {
      for (const auto& [file, value] : files())
        std::filesystem::permissions(root_ + file, std::filesystem::perms::owner_read);
      return finding(name);
    }
    std::filesystem::permissions(root_, std::filesystem::perms::all);
    EXPECT_EQ(seteuid(65534), 0);
    Finding found = finding(name);
    EXPECT_EQ(seteuid(0), 0);
    return found;
  }
  void make_all_quiet() {
    for (const Knob& knob : knobs())
      for (const Setting& setting : read_knob(knob, cpus_, root_))
        put(setting.file, setting.quiet + "\n");
  }

  const std::string sudo_ = geteuid() == 0 ? "" : "sudo ";
};

TEST_F(DoctorTest, AKnobThatIsLoudIsMendedByACommand) {
  const Finding found = finding("swappiness");
  EXPECT_EQ(found.grade, Grade::fair);
  EXPECT_EQ(found.found, "60");
  EXPECT_THAT(found.mend, HasSubstr("echo 0 | " + sudo_ + "tee /proc/sys/vm/swappiness"));
  put("/proc/sys/vm/swappiness", "0\n");
  EXPECT_EQ(finding("swappiness").grade, Grade::good);
  EXPECT_EQ(finding("swappiness").mend, "");
}

TEST_F(DoctorTest, ManyFilesOfAKnobAreOneFinding) {
  const Finding found = finding("governor");
  EXPECT_EQ(found.grade, Grade::poor);
  EXPECT_THAT(found.found, HasSubstr("4 of 4"));
  EXPECT_THAT(found.mend, HasSubstr("quiet apply --knobs governor"));
}

TEST_F(DoctorTest, WhoMayChangeSettings) {
  EXPECT_EQ(finding("rights").grade, Grade::good);
  const Finding found = finding_of_a_user("rights");
  EXPECT_EQ(found.grade, Grade::fair);
  EXPECT_THAT(found.found, HasSubstr("lacks the right to change"));
  EXPECT_THAT(found.mend, HasSubstr("sudo stabctl quiet apply"));
  EXPECT_THAT(finding_of_a_user("swappiness").mend, HasSubstr("echo 0 | sudo tee /proc/sys/vm"));
  EXPECT_THAT(finding_of_a_user("governor").mend, HasSubstr("sudo stabctl quiet apply"));
}

TEST_F(DoctorTest, WhatIsQuietNeedsNoRights) {
  make_all_quiet();
  EXPECT_EQ(finding_of_a_user("rights").grade, Grade::good);
  EXPECT_EQ(finding("rights").found, "nothing needs to change");
}

// As in a container: no command in here would mend it, whoever enters it.
TEST_F(DoctorTest, WhatIsMountedReadOnlyIsMendedOnTheHost) {
  if (!make_read_only("/proc/sys")) GTEST_SKIP() << "this user cannot mount";
  for (const bool user : {false, true}) {
    const Finding rights = user ? finding_of_a_user("rights") : finding("rights");
    EXPECT_EQ(rights.grade, Grade::fair);
    EXPECT_THAT(rights.mend, HasSubstr("on the host"));
    const Finding knob = user ? finding_of_a_user("swappiness") : finding("swappiness");
    EXPECT_THAT(knob.mend, HasSubstr("set /proc/sys/vm/swappiness to 0 on the host"));
    EXPECT_THAT(knob.mend, Not(HasSubstr("tee")));
  }
  put("/proc/sys/kernel/perf_event_paranoid", "3\n");
  EXPECT_EQ(finding("governor").mend.substr(0, 5 + sudo_.size()), sudo_ + "stabc");
}

TEST_F(DoctorTest, ReadingsThatTrialsWillNotHave) {
  const Finding pressure = finding("memory-pressure-ns");
  EXPECT_EQ(pressure.grade, Grade::fair);
  EXPECT_THAT(pressure.mend, HasSubstr("psi=1"));
  for (const char* name : {"steal-ns", "interrupts", "softirqs", "frequency-after-khz",
                           "temperature-after-c", "cpu-migrations"}) {
    EXPECT_THAT(finding(name).found, HasSubstr("trials lack this reading: ")) << name;
    EXPECT_NE(finding(name).mend, "") << name;
  }
  EXPECT_THAT(finding("throttled").meaning, HasSubstr("only Intel CPUs"));
  put("/proc/stat", "cpu0 1 0 0 9 0 0 0 0 0 0\ncpu2 1 0 0 9 0 0 0 0 0 0\n");
  put("/proc/interrupts", "  CPU0 CPU2\n 1: 5 6 x\n");
  put("/proc/softirqs", "  CPU0 CPU2\n 1: 5 6\n");
  put("/proc/pressure/memory", "some avg10=0 avg60=0 avg300=0 total=0\n");
  put("/proc/self/sched", "x\nse.nr_migrations : 3\n");
  put("/sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq", "2400000\n");
  put("/sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "0\n");
  put("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
  put("/sys/class/thermal/thermal_zone0/temp", "45500\n");
  put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  EXPECT_EQ(finding("readings").grade, Grade::good);
}

// False if this process cannot have a filter.
bool refuse_to_count() {
  std::array<sock_filter, 4> code{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog program{.len = code.size(), .filter = code.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Whether events can be counted is asked of the kernel, not only of its setting.
TEST(Counting, AFilterOfSystemCallsIsSeen) {
  if (access("/proc/sys/kernel/perf_event_paranoid", F_OK) != 0)
    GTEST_SKIP() << "this kernel counts nothing";
  constexpr int no_filter = 9;
  const pid_t child = fork();
  if (child == 0) {
    if (!refuse_to_count()) _exit(no_filter);
    const Finding found = counting();
    _exit(found.grade == Grade::fair && !found.meaning.empty() && !found.mend.empty() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_filter)
    GTEST_SKIP() << "system calls cannot be filtered here";
  EXPECT_EQ(status, 0);
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
            "trials run on CPU 2, everything else runs on CPU 0-1: the trials' CPUs are not on the "
            "core of CPU 0, where the kernel does most of its own work; each of the trials' CPUs "
            "is on its own core, and the other "
            "CPUs of these cores (3) stay idle");
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
  EXPECT_THAT(finding("isolation").found, HasSubstr("v2, but its cpusets are switched off"));
  EXPECT_THAT(finding("isolation").mend,
              HasSubstr("echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control"));
  put("/sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu\n");
  EXPECT_EQ(finding("isolation").found, "cpusets of cgroup v2");
  EXPECT_THAT(finding("isolation").mend, HasSubstr("add other_processes to a plan's"));
  put("/sys/devices/system/cpu/isolated", "2-3\n");
  EXPECT_EQ(finding("isolation").grade, Grade::good);
}

TEST_F(DoctorTest, AnOldKernelGivesProgramsWithThreadsOneLayout) {
  EXPECT_EQ(limit_of_kernel(root_), "") << "the version is not known";
  for (const char* release : {"5.4.0-150-generic\n", "5.9.16\n", "4.19.0-25-amd64\n"}) {
    put("/proc/sys/kernel/osrelease", release);
    const Finding found = finding("kernel");
    EXPECT_EQ(found.grade, Grade::fair) << release;
    EXPECT_THAT(found.meaning, HasSubstr("a run of a program with several threads has one layout"));
    EXPECT_THAT(found.mend, HasSubstr("5.10"));
    EXPECT_EQ(found.meaning, limit_of_kernel(root_));
  }
  put("/proc/sys/kernel/osrelease", "5.4.0-150-generic\n");
  EXPECT_EQ(finding("kernel").found, "Linux 5.4.0-150-generic");
  EXPECT_THAT(limit_of_kernel(root_), HasSubstr("with Linux 5.4, "));
  for (const char* release :
       {"5.10.0\n", "5.15.0-91-generic\n", "6.1.0-18-amd64\n", "10.0\n", "x\n"}) {
    put("/proc/sys/kernel/osrelease", release);
    EXPECT_EQ(limit_of_kernel(root_), "") << release;
  }
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
