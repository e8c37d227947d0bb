// SPDX-License-Identifier: MIT
#include "machine/processes.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

namespace stab::machine {
namespace {

using namespace std::chrono_literals;

// Starts /bin/sh with the script; a marker variable is in its environment.
pid_t start(const std::string& script, const std::string& marker = "MARKER=none") {
  const pid_t child = fork();
  if (child == 0) {
    const char* argv[] = {"/bin/sh", "-c", script.c_str(), nullptr};
    const char* environment[] = {"PATH=/usr/bin:/bin", marker.c_str(), nullptr};
    execve(argv[0], const_cast<char**>(argv), const_cast<char**>(environment));
    _exit(127);
  }
  return child;
}

void wait_for_descendants(std::size_t count) {
  // One that changes its parent while the tree is read may be missing once.
  std::size_t most = 0;
  for (int i = 0; i < 2000 && most < count; ++i) {
    usleep(1000);
    most = descendants().size();
  }
  ASSERT_GE(most, count);
}

TEST(Processes, AProcessIsIdentifiedByMoreThanItsPid) {
  const auto self = identify(getpid());
  ASSERT_TRUE(self);
  EXPECT_EQ(self->pid, getpid());
  EXPECT_GT(self->start_ticks, 0U);
  EXPECT_EQ(self->boot.size(), 36U);
  EXPECT_FALSE(identify(0x7ffffff0));
}

TEST(Processes, DescendantsThatLeftTheirSessionAreFoundAndEnded) {
  ASSERT_TRUE(adopt_orphans());
  start("setsid sh -c 'setsid sleep 1000 & sleep 1000 & wait' & (sleep 1000 &) & wait");
  wait_for_descendants(5);
  const auto ended = end_descendants(Containment::process_tree, 10s);
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_GE(*ended, 4U);
  EXPECT_TRUE(descendants().empty());
}

TEST(Processes, AForkingFamilyIsEndedToo) {
  ASSERT_TRUE(adopt_orphans());
  // Each generation starts the next one and goes.
  start("f() { sleep 0.01; (f &) ; }; f; f; f");
  usleep(100'000);
  ASSERT_TRUE(end_descendants(Containment::process_tree, 20s));
  usleep(50'000);
  EXPECT_TRUE(descendants().empty());
}

TEST(Processes, WithoutDescendantsThereIsNothingToEnd) {
  EXPECT_EQ(end_descendants(Containment::process_tree, 1s).value_or(99), 0U);
}

TEST(Processes, AnotherProcessWithTheSamePidIsLeftAlone) {
  const pid_t child = start("exec sleep 1000");
  auto process = identify(child);
  ASSERT_TRUE(process);
  ProcessId earlier = *process;
  --earlier.start_ticks;
  EXPECT_EQ(end_process(earlier, 1s), true);
  EXPECT_EQ(kill(child, 0), 0);
  EXPECT_EQ(end_process(*process, 5s), true);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Processes, MarkedProcessesAreFoundByTheirEnvironment) {
  const pid_t marked = start("exec sleep 1000", "STABD_TEST_MARK=7f3a");
  const pid_t other = start("exec sleep 1000", "STABD_TEST_MARK=7f3a5");
  usleep(50'000);
  EXPECT_EQ(end_marked("STABD_TEST_MARK=7f3a", 5s).value_or(99), 1U);
  int status = 0;
  EXPECT_EQ(waitpid(marked, &status, 0), marked);
  EXPECT_EQ(waitpid(other, &status, WNOHANG), 0);
  kill(other, SIGKILL);
  waitpid(other, &status, 0);
}

}  // namespace
}  // namespace stab::machine
