// SPDX-License-Identifier: MIT
// A user may trace (ptrace) processes of their own. That keeps the end of a process from its parent
// for as long as the tracer likes, and must cost nobody else anything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "base/fd.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Below the process, by the first word of its command line.
std::optional<pid_t> find_below(pid_t parent, const std::string& program) {
  std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) +
                     "/children");
  for (pid_t child = 0; list >> child;) {
    const auto words = read_file("/proc/" + std::to_string(child) + "/cmdline", 65536);
    if (words && words->starts_with(program + '\0')) return child;
    if (const auto deeper = find_below(child, program)) return deeper;
  }
  return std::nullopt;
}

std::optional<pid_t> wait_for_process(pid_t parent, const std::string& program) {
  for (int i = 0; i < 6000; ++i) {
    if (const auto found = find_below(parent, program)) return found;
    std::this_thread::sleep_for(10ms);
  }
  return std::nullopt;
}

class Tracer : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.write("long.toml",
               "[experiment]\nname = \"long\"\n[[benchmark]]\nname = \"b\"\n"
               "run = [\"sleep\", \"1000\"]\nrepetitions = 2\n");
    lab_.write("short.toml",
               "[experiment]\nname = \"short\"\n[[benchmark]]\nname = \"b\"\n"
               "run = [\"true\"]\nrepetitions = 2\n");
  }
  void TearDown() override {
    if (traced_ == 0) return;
    kill(traced_, SIGKILL);
    waitpid(traced_, nullptr, __WALL);  // its end is ours until then
  }
  // From now on its end is told to us, and to nobody else before we take notice.
  void trace(const std::optional<pid_t>& process) {
    ASSERT_TRUE(process);
    if (ptrace(PTRACE_SEIZE, *process, nullptr, nullptr) != 0)
      GTEST_SKIP() << "processes cannot be traced here";
    traced_ = *process;
  }

  Lab lab_;
  pid_t traced_ = 0;
};

TEST_F(Tracer, OfATrialHoldsUpItsOwnExperimentOnly) {
  ASSERT_TRUE(lab_.start_daemon());
  const int held = lab_.submit("long.toml");
  const int next = lab_.submit("short.toml");
  trace(wait_for_process(lab_.daemon(), "sleep"));
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(held)}).code, 0);
  EXPECT_TRUE(lab_.wait_for(next, "done"));
  EXPECT_EQ(lab_.state(held), "cancelled");
}

TEST_F(Tracer, OfAWorkerHoldsUpItsOwnExperimentOnly) {
  ASSERT_TRUE(lab_.start_daemon());
  const int held = lab_.submit("long.toml");
  const int next = lab_.submit("short.toml");
  ASSERT_TRUE(wait_for_process(lab_.daemon(), "sleep"));
  trace(lab_.worker());
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(held)}).code, 0);
  EXPECT_TRUE(lab_.wait_for(next, "done"));
  EXPECT_EQ(lab_.state(held), "cancelled");
}

TEST_F(Tracer, KeepsStabdNeitherFromStoppingNorFromStarting) {
  ASSERT_TRUE(lab_.start_daemon());
  const int held = lab_.submit("long.toml");
  trace(wait_for_process(lab_.daemon(), "sleep"));
  if (IsSkipped() || HasFatalFailure()) return;
  lab_.end_daemon(SIGKILL);
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_TRUE(wait_for_process(lab_.daemon(), "sleep"));
  EXPECT_EQ(lab_.state(held), "running");
  kill(lab_.daemon(), SIGTERM);
  EXPECT_EQ(lab_.wait_for_daemon(), 0);
}

TEST_F(Tracer, OfANoticesCommandKeepsStabdNotFromStopping) {
  lab_.write("notice.toml",
             "[experiment]\nname = \"n\"\nnotify = [\"sleep\", \"1000\"]\n[[benchmark]]\n"
             "name = \"b\"\nrun = [\"true\"]\nrepetitions = 2\n");
  ASSERT_TRUE(lab_.start_daemon());
  const int id = lab_.submit("notice.toml");
  ASSERT_TRUE(lab_.wait_for(id, "done"));
  trace(wait_for_process(lab_.daemon(), "sleep"));
  if (IsSkipped() || HasFatalFailure()) return;
  kill(lab_.daemon(), SIGTERM);
  EXPECT_EQ(lab_.wait_for_daemon(), 0);
}

}  // namespace
}  // namespace stab::test
