// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine/processes.h"

namespace stab::machine {
namespace {

TEST(Migrations, AreReadOutOfTheKernelsTextOrNotKnown) {
  const std::string before = "cat (7, #threads: 1)\n-----\nse.exec_start   :  40.66\n";
  EXPECT_EQ(migrations_in(before + "se.nr_migrations          :       12\nnr_switches :  3\n"), 12);
  EXPECT_EQ(migrations_in(before + "se.nr_migrations : 0\n"), 0);
  for (const char* strange :
       {"", "nr_switches : 3\n", "se.nr_migrations :\n", "se.nr_migrations : x\n",
        "se.nr_migrations : 1.5\n", "se.nr_migrations : -1\n", "se.nr_migrations : 1",
        "a se.nr_migrations : 1\n", "se.nr_migrations : 99999999999999999999\n"})
    EXPECT_FALSE(migrations_in(before + strange)) << strange;
}

TEST(Migrations, OfAProcessThatHasEndedAreStillThereUntilItIsReaped) {
  if (!migrations_of(0)) GTEST_SKIP() << "this kernel has no /proc/PID/sched";
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "there is one CPU only";
  constexpr int rounds = 20;
  const pid_t child = fork();
  if (child == 0) {
    // From one CPU to the next and back.
    for (int i = 0; i < rounds; ++i)
      for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed)) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        sched_setaffinity(0, sizeof one, &one);
      }
    _exit(0);
  }
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_GE(migrations_of(child).value_or(0), rounds);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(migrations_of(child));
}

}  // namespace
}  // namespace stab::machine
