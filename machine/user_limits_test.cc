// SPDX-License-Identifier: MIT
#include "machine/user_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "machine/measured_run.h"

namespace stab::machine {
namespace {

using ::testing::HasSubstr;

// In a process of its own, whose limits are lost with it.
int beside_us(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

rlimit limit_of(__rlimit_resource_t resource) {
  rlimit limit{};
  getrlimit(resource, &limit);
  return limit;
}

// A line of limits of the program that run() starts.
std::string shown_by_a_program(const std::string& command, const Limits& limits = {}) {
  Launch launch;
  launch.argv = {"/bin/sh", "-c", command};
  launch.environment = {"PATH=/usr/bin:/bin"};
  launch.directory = "/";
  launch.output_limit = 1 << 16;
  launch.limits = limits;
  const Ended ended = run(launch);
  return ended.how == End::exited ? ended.out : ended.reason;
}

TEST(UserLimitsTest, ALineSaysThemAgain) {
  const UserLimits all[] = {{},
                            {.set = {{RLIMIT_NOFILE, 100, 200}, {RLIMIT_CORE, 0, RLIM_INFINITY}}},
                            {.lacking = "there is no service"},
                            {.refused = "PAM did not open a session for ada: Permission denied"}};
  for (const UserLimits& each : all) EXPECT_EQ(user_limits_in(to_line(each)), each);
  EXPECT_EQ(to_line(all[1]), "limits nofile=100:200 core=0:unlimited\n");
}

TEST(UserLimitsTest, WhatIsNotUnderstoodIsARefusal) {
  for (const char* line :
       {"", "\n", "limits", "limits nofile=1:2", "limits nofile\n", "limits nofile=1\n",
        "limits nofile=1:x\n", "limits nofile=:\n", "limits files=1:2\n", "limits nofile=-1:2\n",
        "lacking \n", "refused \n", "limits nofile=1:2 \n\n", "limits nofile:1=2\n"})
    EXPECT_NE(user_limits_in(line).refused, "") << line;
}

TEST(UserLimitsTest, AreThoseOfEachProgramAndNotOfThisProcess) {
  EXPECT_EQ(beside_us([] {
              const rlim_t before = limit_of(RLIMIT_NOFILE).rlim_cur;
              const std::vector<ResourceLimit> limits{{RLIMIT_NOFILE, 10, 20},
                                                      {RLIMIT_STACK, 1 << 20, 2 << 20},
                                                      {RLIMIT_CORE, 1024, 2048}};
              if (!allow(limits)) return 1;
              set_limits_of_programs(limits);
              if (shown_by_a_program("ulimit -n; ulimit -Hn; ulimit -s; ulimit -Hs; ulimit -c") !=
                  "10\n20\n1024\n2048\n2\n")
                return 2;
              return limit_of(RLIMIT_NOFILE).rlim_cur == before ? 0 : 3;
            }),
            0);
}

TEST(UserLimitsTest, WithoutThemAProgramHasNoCoreFilesAndTheUsualStack) {
  EXPECT_EQ(shown_by_a_program("ulimit -c; ulimit -Hc; ulimit -s"), "0\n0\n8192\n");
}

TEST(UserLimitsTest, TheLowerLimitOfFilesHolds) {
  EXPECT_EQ(beside_us([] {
              set_limits_of_programs({{RLIMIT_FSIZE, 4096, 8192}});
              const std::string write = "f=$(mktemp); exec head -c 100000 /dev/zero >$f";
              if (shown_by_a_program(write) != "wrote more than its limit of 4096 bytes to a file")
                return 1;
              if (shown_by_a_program(write, {.file = 50'000}) !=
                  "wrote more than its limit of 4096 bytes to a file")
                return 2;
              return shown_by_a_program(write, {.file = 1000}) ==
                             "wrote more than its limit of 1000 bytes to a file"
                         ? 0
                         : 3;
            }),
            0);
}

// A limit that cannot be set would be one that does not hold.
TEST(UserLimitsTest, WithoutALimitThatIsTheirsNothingRuns) {
  EXPECT_EQ(beside_us([] {
              const rlimit few{50, 50};
              setrlimit(RLIMIT_NOFILE, &few);
              set_limits_of_programs({{RLIMIT_NOFILE, 100, 50}});
              return shown_by_a_program("true").starts_with("cannot set the user's limits") ? 0 : 1;
            }),
            0);
}

TEST(UserLimitsTest, AProgramThatSaysNothingIsARefusal) {
  EXPECT_THAT(ask_pam_by("/bin/false", 0).refused, HasSubstr("exit code 1"));
  EXPECT_THAT(ask_pam_by("/bin/true", 0).refused, HasSubstr("not understood"));
  EXPECT_THAT(ask_pam_by("/nonexistent", 0).refused, HasSubstr("exit code 126"));
}

}  // namespace
}  // namespace stab::machine
