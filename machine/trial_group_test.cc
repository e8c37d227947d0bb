// SPDX-License-Identifier: MIT
#include "machine/trial_group.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"

namespace stab::machine {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

class TrialGroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = TrialGroup::make(owner_);
    if (!made) GTEST_SKIP() << made.error().message;
    group_ = *std::move(made);
  }

  // Its exit code, or -signal, of what runs in the group.
  int in_group(const std::function<int()>& what) {
    const pid_t child = fork();
    if (child == 0) _exit(enter() ? what() : 99);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  [[nodiscard]] bool enter() const {
    for (const std::string& door : group_->doors()) {
      const Fd file(open(door.c_str(), O_WRONLY | O_CLOEXEC));
      if (!file || !write_all(file.get(), "0")) return false;
    }
    return true;
  }

  // Each test has an owner of its own: on a slow machine, an earlier test's group may still be emptied.
  static inline int made_ = 0;
  std::string owner_ = "test" + std::to_string(getpid()) + "x" + std::to_string(made_++);
  std::unique_ptr<TrialGroup> group_;
};

bool use_file_in_memory(std::uint64_t bytes) {
  const Fd file(memfd_create("test", MFD_CLOEXEC));
  const std::string text(mib, 'x');
  for (std::uint64_t i = 0; i < bytes / mib; ++i)
    if (!write_all(file.get(), text)) return false;
  return true;
}

bool use_pipes(std::uint64_t bytes) {
  const std::string text(mib, 'x');
  for (std::uint64_t i = 0; i < bytes / mib; ++i) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0 || fcntl(ends[1], F_SETPIPE_SZ, mib) < 0 ||
        !write_all(ends[1], text))
      return false;
  }
  return true;
}

TEST_F(TrialGroupTest, WhatReachesTheLimitOfMemoryIsKnown) {
  ASSERT_TRUE(group_->bound(64 * mib, 0));
  EXPECT_EQ(in_group([] { return use_file_in_memory(20 * mib) ? 0 : 1; }), 0);
  EXPECT_EQ(group_->reached(), "");
  EXPECT_EQ(in_group([] { return use_file_in_memory(200 * mib) ? 0 : 1; }), -SIGKILL);
  EXPECT_THAT(group_->reached(), HasSubstr("limit for memory"));
  // The next trial begins anew, and one without a limit has none.
  ASSERT_TRUE(group_->bound(64 * mib, 0));
  EXPECT_EQ(group_->reached(), "");
  ASSERT_TRUE(group_->bound(0, 0));
  EXPECT_EQ(in_group([] { return use_file_in_memory(200 * mib) ? 0 : 1; }), 0);
  EXPECT_EQ(group_->reached(), "");
}

TEST_F(TrialGroupTest, WhatIsHeldInPipesCountsForTheLimitOfMemory) {
  if (read_file("/proc/cmdline", 1 << 16).value_or("").contains("nokmem"))
    GTEST_SKIP() << "this kernel does not count its own memory";
  if (in_group([] { return use_pipes(60 * mib) ? 0 : 1; }) != 0)
    GTEST_SKIP() << "this process may not have pipes with so much memory";
  ASSERT_TRUE(group_->bound(24 * mib, 0));
  EXPECT_EQ(in_group([] { return use_pipes(8 * mib) ? 0 : 1; }), 0);
  EXPECT_EQ(group_->reached(), "");
  EXPECT_NE(in_group([] { return use_pipes(60 * mib) ? 0 : 1; }), 0);
  EXPECT_THAT(group_->reached(), HasSubstr("limit for memory"));
}

// In a small container it is fewer.
std::string few_tasks() {
  return std::to_string(std::min<std::uint64_t>(1024, most_tasks()));
}

// A limit for few processes allows 1024 tasks, so that their threads have room.
TEST_F(TrialGroupTest, ARefusedProcessIsKnown) {
  if (most_tasks() < 60) GTEST_SKIP() << "this container allows only " << most_tasks() << " tasks";
  ASSERT_TRUE(group_->bound(0, 1));
  const auto start = [](int count) {
    int refused = 0;
    for (int i = 0; i < count && refused == 0; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
      }
      if (child < 0) refused = 1;
    }
    return refused;
  };
  EXPECT_EQ(in_group([&] { return start(50); }), 0);
  EXPECT_EQ(group_->reached(), "");
  EXPECT_EQ(in_group([&] { return start(1100); }), 1);
  EXPECT_THAT(group_->reached(), HasSubstr(few_tasks() + " processes and threads"));
}

// Otherwise a trial without a limit could use up the machine's processes.
TEST_F(TrialGroupTest, WithoutALimitOfThePlanTheKernelAllowsMostTasks) {
  const std::string door = group_->doors().back();
  const std::string limit = door.substr(0, door.rfind('/')) + "/pids.max";
  const auto allowed = [&] { return read_file(limit, 4096).value_or("cannot be read"); };
  const std::string most = std::to_string(most_tasks()) + "\n";
  EXPECT_EQ(allowed(), most);
  ASSERT_TRUE(group_->bound(0, 1));
  EXPECT_EQ(allowed(), few_tasks() + "\n");
  ASSERT_TRUE(group_->bound(0, 0));
  EXPECT_EQ(allowed(), most);
}

// A machine whose files are in a folder.
class MostTasks : public ::testing::Test {
 protected:
  MostTasks() {
    if (mkdtemp(root_.data()) == nullptr) ADD_FAILURE() << "cannot make " << root_;
    put("/proc/sys/kernel/pid_max", "32768");
    put("/proc/sys/kernel/threads-max", "100000");
  }
  ~MostTasks() override { std::filesystem::remove_all(root_); }
  void put(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + file).parent_path());
    std::ofstream(root_ + file) << text << "\n";
  }

  std::string root_ = testing::TempDir() + "tasks-XXXXXX";
};

// Otherwise a trial could use up the tasks that the daemon shares with it.
TEST_F(MostTasks, AreFewerThanTheCgroupsAboveATrialAllow) {
  EXPECT_EQ(most_tasks(root_), 8192U) << "without cgroups";
  put("/proc/self/cgroup", "5:pids:/outer/own\n4:memory:/other\n0::/second");
  put("/proc/self/mountinfo",
      "30 20 0:26 / /cgroup/pids rw,nosuid - cgroup cgroup rw,pids\n"
      "31 20 0:27 / /cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate");
  put("/cgroup/pids/outer/own/pids.max", "max");
  put("/cgroup/pids/outer/beside/pids.max", "4");
  put("/cgroup/unified/other/pids.max", "4");
  EXPECT_EQ(most_tasks(root_), 8192U);
  put("/cgroup/pids/outer/own/pids.max", "4000000");
  EXPECT_EQ(most_tasks(root_), 8192U);
  put("/cgroup/pids/outer/own/pids.max", "2000");
  EXPECT_EQ(most_tasks(root_), 1500U);
  put("/cgroup/pids/outer/pids.max", "400");
  EXPECT_EQ(most_tasks(root_), 300U) << "even below the least that a machine gives";
  // In a container, the group at the top has a limit, too.
  put("/cgroup/pids/pids.max", "100");
  EXPECT_EQ(most_tasks(root_), 75U);
  // In version 2, a trial's group lies at the top, and not in the daemon's own.
  put("/cgroup/unified/second/pids.max", "40");
  EXPECT_EQ(most_tasks(root_), 75U);
  put("/cgroup/unified/pids.max", "1");
  EXPECT_EQ(most_tasks(root_), 1U);
}

// A container may see its own group as the top of the tree.
TEST_F(MostTasks, AreThoseOfTheGroupThatIsMounted) {
  put("/proc/self/cgroup", "5:pids:/docker/cafe/own");
  put("/proc/self/mountinfo",
      "30 20 0:26 /docker/cafe /cgroup/pids rw,nosuid - cgroup cgroup rw,pids");
  put("/cgroup/pids/own/pids.max", "4000");
  put("/cgroup/pids/pids.max", "2000");
  EXPECT_EQ(most_tasks(root_), 1500U);
}

TEST_F(TrialGroupTest, ItsSharedMemoryIsThatOfFilesThatNobodyMaps) {
  EXPECT_EQ(in_group([] {
              if (!is_in_group()) return 1;
              const std::uint64_t before = shared_memory_of_group();
              const Fd file(memfd_create("test", MFD_CLOEXEC));
              const std::string text(20 * mib, 'x');
              if (!write_all(file.get(), text)) return 2;
              const std::uint64_t used = shared_memory_of_group() - before;
              // The kernel counts in batches.
              return used > 18 * mib && used < 22 * mib ? 0 : 3;
            }),
            0);
  EXPECT_FALSE(is_in_group());
  EXPECT_EQ(shared_memory_of_group(), 0U);
}

TEST_F(TrialGroupTest, WhoIsInItCannotChangeItUnlessRoot) {
  EXPECT_EQ(in_group([this] {
              if (setresgid(61234, 61234, 61234) != 0 || setresuid(61234, 61234, 61234) != 0)
                return 1;
              for (const std::string& door : group_->doors()) {
                const std::string folder = door.substr(0, door.rfind('/'));
                const std::string above = folder.substr(0, folder.rfind('/')) + "/cgroup.procs";
                for (const std::string& file : {door, above, folder + "/memory.limit_in_bytes",
                                                folder + "/memory.max", folder + "/pids.max"})
                  if (Fd(open(file.c_str(), O_WRONLY | O_CLOEXEC))) return 2;
              }
              return 0;
            }),
            0);
}

// As after the daemon was killed, which ends no process by itself where there are no namespaces.
TEST_F(TrialGroupTest, ALeftOneIsRemovedWithWhatIsInIt) {
  const pid_t child = fork();
  if (child == 0) {
    if (!enter()) _exit(99);
    for (;;) pause();
  }
  const std::string door = group_->doors().front();
  while (read_file(door, 4096).value_or("").empty()) usleep(1000);
  EXPECT_EQ(remove_left_groups("others"), 0U);
  EXPECT_EQ(access(door.c_str(), F_OK), 0);
  EXPECT_EQ(remove_left_groups(owner_), group_->doors().size());
  EXPECT_EQ(access(door.c_str(), F_OK), -1);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

}  // namespace
}  // namespace stab::machine
