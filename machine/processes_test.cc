// SPDX-License-Identifier: MIT
#include "machine/processes.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>

#include "base/fd.h"

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
  for (int i = 0; i < 60'000 && most < count; ++i) {
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

// It is about to run this program, whose environment comes last.
void wait_for_exec(pid_t child, const std::string& program) {
  for (int i = 0; i < 60'000; ++i, usleep(1000))
    if (read_file("/proc/" + std::to_string(child) + "/comm", 100) == program + "\n") return;
  FAIL() << child << " does not run " << program;
}

TEST(Processes, MarkedProcessesAreFoundByTheirEnvironment) {
  const std::string mark = "STABD_TEST_MARK=" + std::to_string(getpid());
  // The marked one does not get to run, and so not to its end, while another one has its CPU.
  cpu_set_t all;
  cpu_set_t one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (unsigned cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  const pid_t marked = start("exec sleep 1000", mark);
  const pid_t other = start("exec sleep 1000", mark + "5");
  for (const pid_t child : {marked, other}) wait_for_exec(child, "sleep");
  const sched_param none{};
  ASSERT_EQ(sched_setscheduler(marked, SCHED_IDLE, &none), 0);
  ASSERT_EQ(sched_setaffinity(marked, sizeof one, &one), 0);
  const pid_t busy = start("while :; do :; done");
  ASSERT_EQ(sched_setaffinity(busy, sizeof one, &one), 0);
  EXPECT_EQ(end_marked(mark, 60s).value_or(99), 1U);
  kill(busy, SIGKILL);
  kill(marked, SIGTERM);
  int status = 0;
  EXPECT_EQ(waitpid(marked, &status, 0), marked);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(waitpid(other, &status, WNOHANG), 0);
  for (const pid_t child : {other, busy}) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
}

// Children that change their program all the time are found in the midst of it, too.
TEST(Processes, MarkedProcessesAreFoundWhileTheyBeginAnotherProgram) {
  const std::string mark = "STABD_TEST_MARK=" + std::to_string(getpid());
  for (int i = 0; i < 200; ++i) {
    const pid_t child = start("exec /bin/sh -c 'exec sleep 1000'", mark);
    // The mark comes with the first program. How far the child is then differs from time to time.
    while (!read_file("/proc/" + std::to_string(child) + "/environ", 100)->contains(mark)) continue;
    EXPECT_EQ(end_marked(mark, 60s).value_or(99), 1U) << i;
    kill(child, SIGTERM);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(WTERMSIG(status), SIGKILL);
  }
}

}  // namespace
}  // namespace stab::machine
