// SPDX-License-Identifier: MIT
// On a cpuset of this machine where there are cpusets of cgroup v1 and we may make one; only what the test started is moved.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <vector>

#include "base/fd.h"
#include "machine/processes.h"
#include "machine/quiet/knobs.h"
#include "machine/topology.h"

namespace stab::machine {
namespace {

using testing::HasSubstr;

constexpr const char* above = "/sys/fs/cgroup/cpuset";

CpuSet affinity_of(pid_t process) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(process, sizeof set, &set);
  CpuSet cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

class Confinement : public testing::Test {
 protected:
  void SetUp() override {
    all_ = affinity_of(0);
    if (all_.size() < 2) GTEST_SKIP() << "there is one CPU only";
    const auto every = read_file(std::string(above) + "/cpuset.effective_cpus", 4096);
    if (every && *every != to_string(all_) + "\n") GTEST_SKIP() << "we are bound to some CPUs";
    const auto mine = read_file("/proc/self/cgroup", 1 << 16);
    if (!mine || !mine->contains(":cpuset:/\n") || mkdir(folder_.c_str(), 0755) != 0)
      GTEST_SKIP() << "there is no cpuset of cgroup v1 that may be changed";
    rmdir(folder_.c_str());
  }
  ~Confinement() override {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    EXPECT_TRUE(confine(folder_, std::string(everywhere)));
  }

  pid_t start() {
    const pid_t child = fork();
    if (child == 0)
      for (;;) pause();
    children_.push_back(child);
    return child;
  }
  [[nodiscard]] std::function<bool(pid_t)> ours() const {
    return
        [this](pid_t process) { return std::ranges::find(children_, process) != children_.end(); };
  }

  std::string folder_ = std::string(above) + "/stabd-test-" + std::to_string(getpid());
  CpuSet all_;
  std::vector<pid_t> children_;
};

TEST_F(Confinement, MovesProcessesAwayAndBack) {
  const std::vector<pid_t> moved{start(), start()};
  const std::string first = std::to_string(all_.front());
  EXPECT_EQ(confined_to(folder_).value(), everywhere);
  const auto done = confine(folder_, first, ours());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(confined_to(folder_).value(), first);
  for (const pid_t process : moved) EXPECT_EQ(affinity_of(process), CpuSet{all_.front()});
  EXPECT_EQ(affinity_of(0), all_);
  ASSERT_TRUE(confine(folder_, std::string(everywhere)));
  EXPECT_EQ(confined_to(folder_).value(), everywhere);
  EXPECT_FALSE(std::filesystem::exists(folder_));
  for (const pid_t process : moved) EXPECT_EQ(affinity_of(process), all_);
}

TEST_F(Confinement, MovesWhatBeginsMeanwhile) {
  // A process that has a child is moved first; its child is in the folder from the start or is moved in a later round.
  // The family is a process group: it ends together, also those who were forked last.
  int all_begun[2];
  ASSERT_EQ(pipe2(all_begun, O_CLOEXEC), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    setpgid(0, 0);
    for (int i = 0; i < 50; ++i)
      if (fork() == 0)
        for (;;) pause();
    (void)!write(all_begun[1], "x", 1);
    for (;;) pause();
  }
  setpgid(parent, parent);  // it may not have come to do so itself
  children_.push_back(parent);
  const auto family = [&](pid_t process) { return getpgid(process) == parent; };
  const auto done = confine(folder_, std::to_string(all_.front()), family);
  char begun = 0;
  EXPECT_EQ(read(all_begun[0], &begun, 1), 1);
  const auto members = descendants();
  EXPECT_EQ(members.size(), 51);
  for (const pid_t process : members)
    EXPECT_EQ(affinity_of(process), CpuSet{all_.front()}) << process;
  EXPECT_EQ(kill(-parent, SIGKILL), 0);
  close(all_begun[0]);
  close(all_begun[1]);
  ASSERT_TRUE(done) << done.error().message;
}

void bind(pid_t process, unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  ASSERT_EQ(sched_setaffinity(process, sizeof set, &set), 0);
}

TEST_F(Confinement, LeavesThoseWhoKeepToTheirCpusByThemselves) {
  const pid_t bound = start();
  const pid_t moved = start();
  bind(bound, all_.front());
  ASSERT_TRUE(confine(folder_, std::to_string(all_.front()), ours()));
  EXPECT_EQ(read_file(folder_ + "/cgroup.procs", 1000).value(), std::to_string(moved) + "\n");
  ASSERT_TRUE(confine(folder_, std::string(everywhere)));
  EXPECT_EQ(affinity_of(bound), CpuSet{all_.front()});

  bind(bound, all_.back());
  const auto refused = confine(folder_, std::to_string(all_.front()), ours());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is already bound to the CPUs"));
  EXPECT_EQ(affinity_of(bound), CpuSet{all_.back()});
  EXPECT_EQ(affinity_of(moved), all_);
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(Confinement, WhoConfinedThemMayBeGone) {
  const pid_t moved = start();
  const pid_t other = fork();
  if (other == 0) {
    const bool done = confine(folder_, std::to_string(all_.front()), ours()).has_value();
    kill(getpid(), done ? SIGKILL : SIGABRT);
  }
  int status = 0;
  waitpid(other, &status, 0);
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(affinity_of(moved), CpuSet{all_.front()});
  ASSERT_TRUE(confine(folder_, std::string(everywhere)));
  EXPECT_EQ(affinity_of(moved), all_);
}

TEST_F(Confinement, ReachesNobodyWithoutCpusThatAreThere) {
  const pid_t moved = start();
  EXPECT_FALSE(confine(folder_, "4000", ours()));
  EXPECT_FALSE(std::filesystem::exists(folder_));
  EXPECT_EQ(affinity_of(moved), all_);
}

TEST(Confining, SaysWhatIsMissing) {
  const std::string nowhere = testing::TempDir() + "no-cpuset-" + std::to_string(getpid());
  EXPECT_EQ(confined_to(nowhere).value(), everywhere);
  const auto done = confine(nowhere, "0");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("cpuset.mems"));
  EXPECT_FALSE(std::filesystem::exists(nowhere));
}

TEST(OtherProcesses, AreNeitherOursNorOfOurSession) {
  EXPECT_FALSE(is_other(getpid()));
  if (getsid(getppid()) == getsid(0)) EXPECT_FALSE(is_other(getppid()));
  if (getsid(1) != getsid(0)) EXPECT_TRUE(is_other(1));
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    for (;;) pause();
  }
  EXPECT_FALSE(is_other(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(OtherProcesses, OfTheKernelAreKnown) {
  EXPECT_FALSE(is_of_kernel(getpid()));
  const auto name = read_file("/proc/2/comm", 100);
  if (name && *name == "kthreadd\n") EXPECT_TRUE(is_of_kernel(2));
}

}  // namespace
}  // namespace stab::machine
