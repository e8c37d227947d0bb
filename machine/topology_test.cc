// SPDX-License-Identifier: MIT
#include "machine/topology.h"

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <numeric>

#include "base/fd.h"

namespace stab::machine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view table =
    "           CPU0       CPU2       CPU3       \n"
    "  0:         45          0          0   IO-APIC   2-edge      timer\n"
    " 36:          0       9999       2001   PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n"
    " 37:         10          2          0   PCI-MSIX-0000:00:03.0   0-edge      eth0\n"
    "NMI:          0          0          0   Non-maskable interrupts\n"
    "LOC:    9406603    9580743    9000000   Local timer interrupts\n"
    "ERR:          0\n";

TEST(Interrupts, OfDevicesCountByTheTimeSinceBoot) {
  EXPECT_THAT(cpus_of_devices(table, "1001.00 1800.00\n"), IsEmpty());
  EXPECT_THAT(cpus_of_devices(table, "999.00 1800.00\n"), ElementsAre(2));
  EXPECT_THAT(cpus_of_devices(table, "200.0 1800.00\n"), ElementsAre(2, 3));
  EXPECT_THAT(cpus_of_devices(table, "1.0 1.00\n"), ElementsAre(0, 2, 3));
}

TEST(Interrupts, OfAnUnknownFormSayNothing) {
  for (const std::string_view strange : {"", "CPU\n", "cores CPU0\n 1: 5000\n", "no table"})
    EXPECT_THAT(cpus_of_devices(strange, "1.0 1.0\n"), IsEmpty()) << strange;
  for (const std::string_view strange : {"", "long ago", "1.0x 2"})
    EXPECT_THAT(cpus_of_devices(table, strange), IsEmpty()) << strange;
  EXPECT_THAT(cpus_of_devices("CPU0 CPU1\n 9: 5000\n 10: 1 5000\n", "1.0 1.0\n"), ElementsAre(1));
}

TEST(Interrupts, OfThisMachineAreOfCpusThatItHas) {
  const auto interrupts = read_file("/proc/interrupts", 1 << 20);
  if (!interrupts) GTEST_SKIP() << interrupts.error().message;
  // As if it had been on for no time at all: all that ever served a device.
  const CpuSet busy = cpus_of_devices(*interrupts, "0.000001 0\n");
  EXPECT_LE(busy.size(), Topology::load()->counts().cpus);
}

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

// 128 CPUs: 2 packages of 2 L3 caches of 16 cores of 2 threads. The threads of core i are 2i and 2i
// + 1.
constexpr const char* big =
    "Package:2 [NUMANode(memory=64GiB)] L3Cache:2 L2Cache:16 L1dCache:1 Core:1 PU:2";

// 256 CPUs: the same with 4 caches, so that core i has 2i and 2i + 1 here, too.
constexpr const char* biggest =
    "Package:2 [NUMANode(memory=256GiB)] L3Cache:4 L2Cache:16 L1dCache:1 Core:1 PU:2";

CpuSet range(unsigned first, unsigned last) {
  CpuSet cpus(last - first + 1);
  std::iota(cpus.begin(), cpus.end(), first);
  return cpus;
}

CpuSet even(unsigned first, unsigned count) {
  CpuSet cpus;
  for (unsigned i = 0; i < count; ++i) cpus.push_back(first + 2 * i);
  return cpus;
}

CpuChoice choose(const char* description, unsigned n, const CpuSet& allowed = {}) {
  const auto topology = Topology::synthetic(description, allowed);
  EXPECT_TRUE(topology) << topology.error().message;
  const auto choice = topology->choose_cpus(n);
  EXPECT_TRUE(choice) << choice.error().message;
  return choice.value_or(CpuChoice{});
}

TEST(Topology, CountsTheBigMachine) {
  EXPECT_EQ(Topology::synthetic(big)->counts(),
            (Counts{.cpus = 128, .cores = 64, .packages = 2, .numa_nodes = 2}));
}

TEST(Topology, RefusesADescriptionThatIsNone) {
  const auto topology = Topology::synthetic("a big one");
  ASSERT_FALSE(topology);
  EXPECT_THAT(topology.error().message, HasSubstr("'a big one'"));
}

TEST(ChooseCpus, TakesOneFarFromCpu0AndLeavesItsSiblingIdle) {
  const CpuChoice choice = choose(big, 1);
  EXPECT_THAT(choice.trial, ElementsAre(32));
  EXPECT_THAT(choice.idle, ElementsAre(33));
  EXPECT_EQ(choice.others.size(), 126U);
  EXPECT_FALSE(choice.shared);
  EXPECT_FALSE(choice.siblings);
}

TEST(ChooseCpus, KeepsFourInOneCacheOnFourCores) {
  const CpuChoice choice = choose(big, 4);
  EXPECT_EQ(choice.trial, even(32, 4));
  EXPECT_THAT(choice.idle, ElementsAre(33, 35, 37, 39));
}

TEST(ChooseCpus, FillsACacheBeforeItLeavesIt) {
  EXPECT_EQ(choose(big, 16).trial, even(32, 16));
}

TEST(ChooseCpus, GoesToAWholeNodeWhenACacheIsTooSmall) {
  EXPECT_EQ(choose(big, 17).trial, even(64, 17));
  EXPECT_EQ(choose(big, 32).trial, even(64, 32));
}

TEST(ChooseCpus, SpreadsOverCoresBeforeItUsesSiblings) {
  const CpuChoice choice = choose(big, 63);
  EXPECT_EQ(choice.trial, even(2, 63));
  EXPECT_THAT(choice.others, ElementsAre(0, 1));
  EXPECT_FALSE(choice.siblings);
}

TEST(ChooseCpus, UsesSiblingsBeforeTheFirstCore) {
  const CpuChoice choice = choose(big, 64);
  EXPECT_EQ(choice.trial.size(), 64U);
  EXPECT_TRUE(std::ranges::none_of(choice.trial, [](unsigned cpu) { return cpu < 2; }));
  EXPECT_TRUE(choice.siblings);
  EXPECT_THAT(choose(big, 126).others, ElementsAre(0, 1));
}

TEST(ChooseCpus, TakesCpu0Last) {
  EXPECT_EQ(choose(big, 127).trial, range(1, 127));
  EXPECT_THAT(choose(big, 127).others, ElementsAre(0));
  EXPECT_TRUE(choose(big, 127).siblings);
}

CpuSet chosen_beside(const char* description, unsigned n, const CpuSet& of_devices,
                     const CpuSet& earlier = {}) {
  return Topology::synthetic(description, {}, {}, of_devices)
      ->choose_cpus(n, earlier)
      .value()
      .trial;
}

TEST(ChooseCpus, LeavesCoresThatServeDevices) {
  EXPECT_THAT(chosen_beside(big, 1, {32}), ElementsAre(34));
  EXPECT_THAT(chosen_beside(big, 1, {33}), ElementsAre(34)) << "its sibling would disturb it";
  EXPECT_EQ(chosen_beside(big, 4, {34, 36}), (CpuSet{32, 38, 40, 42}));
  // As a table of interrupts has it: CPU 32 has served 2000 in 100 s.
  const CpuSet busy = cpus_of_devices(
      "           CPU32      CPU34\n 36:       2000          9   PCI-MSIX   eth0\n", "100.0 1.0\n");
  EXPECT_THAT(chosen_beside(big, 1, busy), ElementsAre(34));
}

TEST(ChooseCpus, DevicesMatterLessThanACoreOfItsOwnAwayFromCpu0AndClose) {
  EXPECT_THAT(chosen_beside("Core:2 PU:1", 1, {1}), ElementsAre(1));
  EXPECT_EQ(chosen_beside("Core:3 PU:2", 2, {4}), (CpuSet{2, 4})) << "not two of one core";
  EXPECT_EQ(chosen_beside("Package:2 L3Cache:2 Core:2 PU:1", 2, {2, 5, 6}), (CpuSet{2, 3}))
      << "not in two packages";
}

TEST(ChooseCpus, WhoGoesOnDoesSoWhereItBegan) {
  EXPECT_THAT(chosen_beside(big, 1, {}, {40}), ElementsAre(40));
  EXPECT_THAT(chosen_beside(big, 1, {40}, {40}), ElementsAre(40));
  EXPECT_THAT(chosen_beside(big, 1, {}, {40, 42}), ElementsAre(32)) << "it wants another number";
  EXPECT_THAT(choose("Core:4 PU:1", 1, {1, 3}).trial, ElementsAre(1));
  const auto few = Topology::synthetic("Core:4 PU:1", {1, 3});
  EXPECT_THAT(few->choose_cpus(1, {2}).value().trial, ElementsAre(1)) << "it is taken away";
  EXPECT_EQ(few->choose_cpus(1, {3}).value(), (CpuChoice{.trial = {3}, .others = {1}}));
}

TEST(ChooseCpus, SaysWhoServesDevices) {
  const auto reasons = [](const CpuSet& of_devices) {
    const auto topology = Topology::synthetic("Core:3 PU:1", {}, {}, of_devices);
    return topology->reasons(topology->choose_cpus(1).value());
  };
  EXPECT_THAT(reasons({}), Each(Not(HasSubstr("devices"))));
  EXPECT_THAT(reasons({1}), Contains(HasSubstr("other CPUs (1) serve")));
  EXPECT_THAT(reasons({2}), Contains(HasSubstr("other CPUs (2) serve")));
  EXPECT_THAT(reasons({1, 2}),
              Contains(HasSubstr("device interrupts arrive on the cores of the trials' CPUs")));
}

TEST(TopologyTest, CpusThatTheUserNamesAreTakenWhateverTheyAre) {
  const auto topology = Topology::synthetic("Package:1 Core:4 PU:2", {0, 1, 2, 3, 4, 5});
  ASSERT_TRUE(topology);
  const auto choice = topology->take_cpus({0});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->trial, CpuSet({0}));
  EXPECT_EQ(choice->idle, CpuSet({1}));
  EXPECT_EQ(choice->others, CpuSet({2, 3, 4, 5}));
  EXPECT_THAT(topology->reasons(*choice), AllOf(Contains("the plan lists them"),
                                                Each(Not(HasSubstr("no other core was left")))));
  const auto refused = topology->take_cpus({1, 7});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "CPU 7 was requested, but only 0-5 can be used here");
  EXPECT_FALSE(topology->take_cpus({}));
}

TEST(TopologyTest, ALineThatIsNoListOfCpusIsNone) {
  for (const char* bad : {"x", "1x", "2-", "1-0", "1,x", "-1", "0-9999999"})
    EXPECT_EQ(cpus_in(bad), CpuSet()) << bad;
  EXPECT_EQ(cpus_in("3,0-1"), CpuSet({0, 1, 3}));
}

TEST(ChooseCpus, SharesTheMachineWhenAllIsAskedFor) {
  const CpuChoice choice = choose(big, 128);
  EXPECT_EQ(choice.trial, range(0, 127));
  EXPECT_EQ(choice.others, choice.trial);
  EXPECT_TRUE(choice.shared);
}

TEST(ChooseCpus, SharesTheOnlyCpu) {
  EXPECT_EQ(choose("PU:1", 1), (CpuChoice{.trial = {0}, .others = {0}, .shared = true}));
}

TEST(ChooseCpus, TakesCpusForCoresWhereTheMachineDoesNotTellItsCores) {
  EXPECT_EQ(choose("PU:3", 1), (CpuChoice{.trial = {1}, .others = {0, 2}}));
  EXPECT_EQ(Topology::synthetic("PU:3")->counts(),
            (Counts{.cpus = 3, .cores = 3, .packages = 1, .numa_nodes = 1}));
}

TEST(ChooseCpus, SplitsTwoCores) {
  EXPECT_EQ(choose("Core:2 PU:1", 1), (CpuChoice{.trial = {1}, .others = {0}}));
}

TEST(ChooseCpus, SplitsTheOnlyCoreAndSaysSo) {
  EXPECT_EQ(choose("Core:1 PU:2", 1), (CpuChoice{.trial = {1}, .others = {0}, .siblings = true}));
}

TEST(ChooseCpus, LeavesSiblingsToOthersWhenAllCoresAreTaken) {
  EXPECT_EQ(choose("Core:2 PU:2", 2),
            (CpuChoice{.trial = {2, 3}, .others = {0, 1}, .siblings = true}));
}

TEST(ChooseCpus, UsesOnlyWhatIsAllowed) {
  const CpuSet allowed{3, 4, 5, 70};
  EXPECT_EQ(choose(big, 1, allowed), (CpuChoice{.trial = {70}, .others = {3, 4, 5}}));
  EXPECT_EQ(choose(big, 2, allowed), (CpuChoice{.trial = {3, 4}, .others = {70}, .idle = {5}}));
  EXPECT_EQ(choose(big, 4, allowed).trial, allowed);
}

TEST(ChooseCpus, AvoidsTheFirstCoreEvenIfCpu0ItselfIsForbidden) {
  EXPECT_THAT(choose(big, 1, {1, 2, 3}).trial, ElementsAre(2));
}

// Whatever is asked for: the sets are disjoint, the size is right, nothing forbidden is used.
TEST(ChooseCpus, KeepsItsPromisesForEveryNumber) {
  for (const char* machine : {big, biggest}) {
    const auto topology = Topology::synthetic(machine);
    const unsigned cpus = topology->counts().cpus;
    for (unsigned n = 1; n <= cpus; ++n) {
      const CpuChoice choice = topology->choose_cpus(n).value();
      EXPECT_EQ(choice.trial.size(), n);
      EXPECT_FALSE(choice.others.empty());
      EXPECT_EQ(choice.shared, n == cpus);
      CpuSet all = choice.trial;
      all.insert(all.end(), choice.idle.begin(), choice.idle.end());
      if (!choice.shared) all.insert(all.end(), choice.others.begin(), choice.others.end());
      std::ranges::sort(all);
      EXPECT_EQ(all, range(0, cpus - 1)) << n;
    }
  }
}

// Two sockets of 64 cores of two threads: the same preferences, with numbers above 127.
TEST(ChooseCpus, OfTwoSocketsWith64CoresOfTwoThreads) {
  EXPECT_EQ(Topology::synthetic(biggest)->counts().cores, 128U);
  const CpuChoice one = choose(biggest, 1);
  EXPECT_THAT(one.trial, ElementsAre(32));
  EXPECT_THAT(one.idle, ElementsAre(33));
  EXPECT_EQ(one.others.size(), 254U);
  EXPECT_EQ(choose(biggest, 16).trial, even(32, 16)) << "one cache";
  EXPECT_EQ(choose(biggest, 64).trial, even(128, 64)) << "the socket without CPU 0";
  EXPECT_EQ(choose(biggest, 127).trial, even(2, 127));
  EXPECT_FALSE(choose(biggest, 127).siblings);
  EXPECT_TRUE(choose(biggest, 128).siblings);
  EXPECT_THAT(choose(biggest, 254).others, ElementsAre(0, 1));
  EXPECT_EQ(choose(biggest, 255).trial, range(1, 255));
  EXPECT_TRUE(choose(biggest, 256).shared);
}

// Eight cores of two threads; the last four cores (8-15) are slow.
CpuChoice choose_hybrid(unsigned n, const CpuSet& allowed = {}) {
  const auto topology =
      Topology::synthetic("Package:1 L3Cache:1 Core:8 PU:2", allowed, range(8, 15));
  EXPECT_TRUE(topology) << topology.error().message;
  return topology->choose_cpus(n).value();
}

TEST(ChooseCpus, TakesTheFastCoresOfAHybridMachine) {
  EXPECT_THAT(choose_hybrid(1).trial, ElementsAre(2));
  EXPECT_THAT(choose_hybrid(1).idle, ElementsAre(3));
  EXPECT_THAT(choose_hybrid(3).trial, ElementsAre(2, 4, 6));
  // A sibling or CPU 0 is of the same kind at least.
  EXPECT_THAT(choose_hybrid(4).trial, ElementsAre(2, 3, 4, 6));
  EXPECT_EQ(choose_hybrid(8).trial, range(0, 7));
  EXPECT_EQ(choose_hybrid(8).others, range(8, 15));
  EXPECT_FALSE(choose_hybrid(8).shared);
  EXPECT_EQ(choose_hybrid(9).trial.size(), 9U);
  EXPECT_THAT(choose_hybrid(1, {8, 9, 10, 11}).trial, ElementsAre(8));
}

std::string why(const char* description, unsigned n, const CpuSet& efficient = {}) {
  const auto topology = Topology::synthetic(description, {}, efficient);
  std::string text;
  for (const std::string& reason : topology->reasons(topology->choose_cpus(n).value()))
    text += reason + "\n";
  return text;
}

TEST(ChooseCpus, SaysWhy) {
  EXPECT_EQ(
      why(big, 1),
      "the trials' CPUs are not on the core of CPU 0, where the kernel does most of its own work\n"
      "each of the trials' CPUs is on its own core, and the other CPUs of these cores (33) stay "
      "idle\n");
  EXPECT_THAT(why(big, 16), HasSubstr("the trials' CPUs are in one L3 cache\n"));
  EXPECT_THAT(why(big, 17), HasSubstr("the trials' CPUs are in one NUMA node\n"));
  EXPECT_THAT(why(big, 63), HasSubstr("the trials' CPUs are in several NUMA nodes"));
  EXPECT_THAT(why(big, 127), AllOf(HasSubstr("one of the trials' CPUs is on the core of CPU 0"),
                                   HasSubstr("the trials' CPUs share cores with each other or with "
                                             "CPUs that run everything else")));
  EXPECT_THAT(why("PU:1", 1), HasSubstr("everything else also runs on the trials' CPUs"));
  EXPECT_THAT(why("Core:2 PU:1", 1), HasSubstr("each of the trials' CPUs is on its own core\n"));
  EXPECT_THAT(why("Core:1 PU:2", 1), HasSubstr("the trials' CPUs share cores with each other"));
  const char* eight = "Package:1 L3Cache:1 Core:8 PU:2";
  EXPECT_THAT(why(eight, 2, range(8, 15)),
              HasSubstr("the trials' CPUs are the machine's fast cores\n"));
  EXPECT_THAT(why(eight, 9, range(8, 15)), HasSubstr("the trials' CPUs include slower cores"));
  EXPECT_THAT(why(eight, 2), Not(HasSubstr("fast")));
}

TEST(ChooseCpus, SaysHowManyThereAreWhenThereAreTooFew) {
  const auto topology = Topology::synthetic(big, {2, 3, 4, 9});
  const auto choice = topology->choose_cpus(5);
  ASSERT_FALSE(choice);
  EXPECT_THAT(choice.error().message, HasSubstr("5 CPUs were requested"));
  EXPECT_THAT(choice.error().message, HasSubstr("only 4 can be used here (2-4,9)"));
  EXPECT_FALSE(topology->choose_cpus(0));
}

TEST(CpuList, IsWrittenAsTheKernelWritesIt) {
  EXPECT_EQ(to_string(CpuSet{}), "");
  EXPECT_EQ(to_string(CpuSet{3}), "3");
  EXPECT_EQ(to_string(CpuSet{0, 1, 2, 8, 10, 11}), "0-2,8,10-11");
  EXPECT_EQ(cpus_in("0-2,8,10-11"), (CpuSet{0, 1, 2, 8, 10, 11}));
  EXPECT_EQ(cpus_in("3"), CpuSet{3});
  EXPECT_EQ(cpus_in("8,0-1,1"), (CpuSet{0, 1, 8}));
  for (const char* none : {"", "x", "3-1", "1,x", "-", "4294967295", "4294967290-4294967295",
                           "65536", "0-65535,0-65535"})
    EXPECT_EQ(cpus_in(none), CpuSet{}) << none;
}

CpuSet own_affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  CpuSet cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

// In a child, so that this process keeps its own affinity. True if `check` is.
bool in_child(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(ThisMachine, AllowsWhatTheKernelAllows) {
  const auto topology = Topology::load();
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology->allowed(), own_affinity());
  EXPECT_GE(topology->counts().cpus, topology->allowed().size());
  EXPECT_GE(topology->counts().cores, 1U);
  EXPECT_GE(topology->counts().numa_nodes, 1U);
}

TEST(ThisMachine, BindsAChildToTheChosenCpus) {
  const auto topology = Topology::load();
  const CpuChoice choice = topology->choose_cpus(1).value();
  EXPECT_TRUE(
      in_child([&] { return topology->bind(choice.trial) && own_affinity() == choice.trial; }));
  EXPECT_TRUE(
      in_child([&] { return topology->bind(choice.others) && own_affinity() == choice.others; }));
}

TEST(ThisMachine, ABindingIsInheritedAndLimitsWhatIsAllowed) {
  const auto topology = Topology::load();
  const CpuSet one{topology->allowed().back()};
  EXPECT_TRUE(in_child([&] { return topology->bind(one) && Topology::load()->allowed() == one; }));
  EXPECT_TRUE(in_child(
      [&] { return topology->bind(one) && in_child([&] { return own_affinity() == one; }); }));
}

TEST(ThisMachine, RefusesToBindToCpusThatAreNotThere) {
  const auto topology = Topology::load();
  const CpuSet before = own_affinity();
  EXPECT_FALSE(topology->bind(CpuSet{4000}));
  EXPECT_FALSE(topology->bind(CpuSet{}));
  EXPECT_EQ(own_affinity(), before);
}

// A CPU that does not exist is like one that a knob took offline after it was chosen.
TEST(ThisMachine, BindsToThoseCpusThatAreOnlineIfItMay) {
  if (!read_file("/sys/devices/system/cpu/online", 1 << 16)) GTEST_SKIP() << "no sysfs";
  const auto topology = Topology::load();
  const CpuSet one{topology->allowed().back()};
  const CpuSet with_another{one.front(), 4000};
  const CpuSet before = own_affinity();
  EXPECT_TRUE(
      in_child([&] { return topology->bind_to_online(with_another) && own_affinity() == one; }));
  EXPECT_TRUE(in_child([&] { return topology->bind_to_online(one) && own_affinity() == one; }));
  EXPECT_TRUE(in_child([&] { return !topology->bind(with_another); })) << "a trial needs them all";
  EXPECT_FALSE(topology->bind_to_online(CpuSet{4000}));
  EXPECT_FALSE(topology->bind_to_online(CpuSet{}));
  EXPECT_EQ(own_affinity(), before);
}

// How the kernel says where this process's next pages come from: "default" or "prefer:0".
std::string memory_policy() {
  std::ifstream maps("/proc/self/numa_maps");
  std::string address;
  std::string policy;
  maps >> address >> policy;
  return policy;
}

TEST(ThisMachine, BindsMemoryToTheNodeOfTheCpusAlsoForWhatIsStarted) {
  const auto topology = Topology::load();
  const CpuSet one{topology->allowed().back()};
  if (memory_policy().empty()) GTEST_SKIP() << "this kernel knows no NUMA nodes";
  const auto bound = [&] { return topology->bind_memory(one).has_value(); };
  if (!in_child(bound)) GTEST_SKIP() << "memory cannot be bound here";
  const auto policy_is_ours = [] { return memory_policy().starts_with("prefer"); };
  EXPECT_FALSE(policy_is_ours());
  EXPECT_TRUE(in_child([&] { return bound() && policy_is_ours(); }));
  EXPECT_TRUE(in_child([&] {
    return bound() && system("head -n 1 /proc/self/numa_maps | grep -q ' prefer'") == 0;
  }));
  EXPECT_FALSE(policy_is_ours());
}

TEST(SyntheticMachine, RefusesToBindMemory) {
  const auto bound = Topology::synthetic(big)->bind_memory(CpuSet{0});
  ASSERT_FALSE(bound);
  EXPECT_THAT(bound.error().message, HasSubstr("does not belong to this machine"));
  EXPECT_TRUE(memory_policy().empty() || memory_policy() == "default");
}

TEST(SyntheticMachine, RefusesToBind) {
  const auto topology = Topology::synthetic(big);
  EXPECT_FALSE(topology->bind_to_online(CpuSet{0}));
  const CpuSet before = own_affinity();
  const auto bound = topology->bind(CpuSet{0});
  ASSERT_FALSE(bound);
  EXPECT_THAT(bound.error().message, HasSubstr("does not belong to this machine"));
  EXPECT_EQ(own_affinity(), before);
}

}  // namespace
}  // namespace stab::machine
