// SPDX-License-Identifier: MIT
#include "machine/measured_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/time.h"

namespace stab::machine {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class Child : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(adopt_orphans()); }

  static Launch command(const std::string& script) {
    Launch launch;
    launch.argv = {"/bin/sh", "-c", script};
    launch.environment = {"PATH=/usr/bin:/bin"};
    launch.directory = "/";
    launch.output_limit = 1 << 20;
    launch.timeout = 30s;
    return launch;
  }
};

TEST_F(Child, ASlowStartTakesNothingFromTheProgramsTime) {
  Launch launch = command("exit 0");
  launch.timeout = 3s;
  launch.held = [](pid_t) { std::this_thread::sleep_for(3100ms); };
  const Ended ended = run(launch);
  EXPECT_EQ(ended.how, End::exited) << ended.reason;
}

TEST_F(Child, ExitCodeAndBothStreamsAreKept) {
  const Ended ended = run(command("echo to out; echo to err >&2; exit 3"));
  EXPECT_EQ(ended.how, End::exited);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(ended.out, "to out\n");
  EXPECT_EQ(ended.err, "to err\n");
  EXPECT_EQ(ended.reason, "");
  EXPECT_GT(ended.wall, 0ns);
}

// The peak of a process of its own, which has nothing else.
TEST_F(Child, ALargeOutputIsHeldOnceAndNeverTwice) {
  constexpr std::size_t bytes = 200'000'000;
  const pid_t child = fork();
  if (child == 0) {
    Launch launch = command(fmt::format("head -c {} /dev/zero", bytes));
    launch.output_limit = std::uint64_t{1} << 30;
    rusage before{};
    getrusage(RUSAGE_SELF, &before);
    const Ended ended = run(launch);
    rusage after{};
    getrusage(RUSAGE_SELF, &after);
    const auto grown = static_cast<std::size_t>(after.ru_maxrss - before.ru_maxrss) * 1024;
    _exit(ended.out.size() != bytes ? 1 : grown > bytes + bytes / 10 ? 2 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

TEST_F(Child, MergedStreamsKeepTheirOrder) {
  Launch launch = command("echo 1; echo 2 >&2; echo 3");
  launch.merge_stderr = true;
  EXPECT_EQ(run(launch).out, "1\n2\n3\n");
}

TEST_F(Child, WaitsBeforeExecUntilItIsLetGo) {
  Launch launch = command("sleep 0.05");
  std::string program;
  launch.held = [&](pid_t child) {
    std::this_thread::sleep_for(100ms);
    std::error_code error;
    program = std::filesystem::read_symlink("/proc/" + std::to_string(child) + "/exe", error);
  };
  const Ended ended = run(launch);
  EXPECT_EQ(ended.how, End::exited);
  EXPECT_THAT(program, HasSubstr("stab-starter"));
  EXPECT_GE(ended.wall, 50ms);
  // What it waited for is no time of the program's.
  const auto spawn = std::ranges::find(ended.readings, "spawn-ns", &counters::Reading::name);
  ASSERT_NE(spawn, ended.readings.end());
  EXPECT_GE(std::get<std::int64_t>(spawn->value), 100'000'000);
}

// A command beside the program.
Launch with_company(Launch launch, const std::string& script) {
  launch.beside = {"/bin/sh", "-c", script};
  launch.beside_environment = launch.environment;
  launch.bind = [] {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return false;
    int first = 0;
    while (!CPU_ISSET(first, &cpus)) ++first;
    CPU_ZERO(&cpus);
    CPU_SET(first, &cpus);
    return sched_setaffinity(0, sizeof cpus, &cpus) == 0;
  };
  return launch;
}

TEST_F(Child, ACommandBesideTakesTurnsWithTheProgram) {
  const std::string work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo $i";
  const Ended ended = run(with_company(command(work), work));
  ASSERT_EQ(ended.how, End::exited) << ended.reason;
  EXPECT_EQ(ended.out, "300000\n");
  EXPECT_EQ(ended.leftovers, 0U);
  ASSERT_TRUE(ended.beside);
  EXPECT_EQ(ended.beside->fault, "");
  EXPECT_EQ(ended.beside->exit_code, 0);
  const auto own = ended.user + ended.system;
  EXPECT_GT(2 * ended.beside->cpu, own);
  EXPECT_LT(ended.beside->cpu, 2 * own);
  // On one CPU, whichever of the two ends first has had about half of it.
  EXPECT_GT(10 * ended.wall, 14 * std::min(own, ended.beside->cpu));
}

TEST_F(Child, ACommandBesideIsWaitedForUntilTheTimeoutAndItsEndIsKept) {
  const auto end_of = [](const std::string& script) {
    return run(with_company(command("exit 0"), script))
        .beside.value_or(BesideEnded{.exit_code = 99});
  };
  EXPECT_EQ(end_of("sleep 0.3; exit 3").exit_code, 3);
  EXPECT_THAT(end_of("kill -9 $$").fault, HasSubstr("was killed by signal 9"));
  EXPECT_EQ(end_of("head -c 50000000 /dev/zero").fault, "");
  Launch launch = with_company(command("exit 0"), "sleep 4713");
  launch.timeout = 1s;
  const Ended ended = run(launch);
  EXPECT_EQ(ended.how, End::exited);
  ASSERT_TRUE(ended.beside);
  EXPECT_EQ(ended.beside->fault, "did not end within the trial's timeout");
  launch.beside = {"/bin/sh", "-c", "exec yes"};
  EXPECT_EQ(run(launch).beside.value_or(BesideEnded{}).fault,
            "did not end within the trial's timeout");
}

TEST_F(Child, ARequestToStopEndsTheCommandBesideToo) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd read_end(ends[0]);
  const Fd write_end(ends[1]);
  Launch launch = with_company(command("exit 0"), "sleep 4713");
  launch.stop_fd = read_end.get();
  std::thread later([&] {
    std::this_thread::sleep_for(300ms);
    EXPECT_EQ(write(write_end.get(), "x", 1), 1);
  });
  EXPECT_EQ(run(launch).how, End::stopped);
  later.join();
  EXPECT_TRUE(descendants(Which::all).empty());
}

TEST_F(Child, NothingOfACommandBesideRemains) {
  Launch late = with_company(command("sleep 4713"), "sleep 4713 & sleep 4713");
  late.timeout = 500ms;
  const Ended ended = run(late);
  EXPECT_EQ(ended.how, End::timeout);
  EXPECT_FALSE(ended.beside);
  Launch missing = command("exit 0");
  missing.beside = {"/no/such/program"};
  EXPECT_EQ(run(missing).how, End::not_started);
  EXPECT_THAT(run(missing).reason, HasSubstr("the 'beside' command /no/such/program"));
  // Binding fails at once, or only for the program.
  Launch unbound = with_company(command("exit 0"), "exit 0");
  unbound.bind = [] { return errno = EPERM, false; };
  EXPECT_THAT(run(unbound).reason, HasSubstr("the 'beside' command /bin/sh: cannot bind it"));
  const Fd low(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const Fd calls(fcntl(low.get(), F_DUPFD_CLOEXEC, 50));  // the start replaces low descriptors
  unbound.bind = [&] {
    eventfd_t before = 0;
    const bool is_first = eventfd_read(calls.get(), &before) != 0;
    eventfd_write(calls.get(), 1);
    return is_first || (errno = EPERM, false);
  };
  const Ended alone = run(unbound);
  EXPECT_EQ(alone.how, End::not_started);
  EXPECT_THAT(alone.reason, HasSubstr("cannot bind it to its CPUs: /bin/sh"));
  EXPECT_FALSE(alone.beside);
  EXPECT_TRUE(descendants(Which::all).empty());
}

TEST_F(Child, ASignalIsReportedByNumberAndName) {
  const Ended ended = run(command("kill -SEGV $$"));
  EXPECT_EQ(ended.how, End::signalled);
  EXPECT_EQ(ended.signal, SIGSEGV);
  EXPECT_THAT(ended.reason, HasSubstr("signal 11"));
}

TEST_F(Child, WallTimeSpansTheRunAndCpuTimeOnlyTheWork) {
  const Ended ended = run(command("sleep 0.2"));
  EXPECT_GE(ended.wall, 200ms);
  EXPECT_LT(ended.user + ended.system, ended.wall);
}

TEST_F(Child, ATimeoutEndsAlsoDescendantsThatLeftTheGroupAndTheSession) {
  Launch launch = command("setsid sh -c 'sleep 1000 & sleep 1000' & (sleep 1000 &) ; sleep 1000");
  // Long enough for all of them to begin, on a busy machine, too.
  Ended ended;
  for (launch.timeout = 200ms; ended.leftovers < 3 && launch.timeout < 100s; launch.timeout *= 5) {
    ended = run(launch);
    EXPECT_EQ(ended.how, End::timeout);
    EXPECT_THAT(ended.reason, HasSubstr("timeout of " + format_duration(launch.timeout)));
    EXPECT_TRUE(descendants().empty());
  }
  EXPECT_GE(ended.leftovers, 3U);
  EXPECT_TRUE(descendants().empty());
}

TEST_F(Child, ChildrenThatOutliveTheProgramAreEndedAndCounted) {
  const Ended ended = run(command("setsid sleep 1000 & exit 0"));
  EXPECT_EQ(ended.how, End::exited);
  EXPECT_EQ(ended.leftovers, 1U);
  EXPECT_TRUE(descendants().empty());
}

TEST_F(Child, EndlessOutputIsCutAtTheLimit) {
  Launch launch = command("yes");
  launch.output_limit = 100'000;
  const Ended ended = run(launch);
  EXPECT_EQ(ended.how, End::output_limit);
  EXPECT_EQ(ended.out.size(), 100'000U);
  EXPECT_THAT(ended.reason, HasSubstr("100000 bytes"));
}

TEST_F(Child, MemoryOfAllItsProcessesTogetherIsLimited) {
  // Each takes 40 MB, and no one alone passes the limit.
  const std::string hog =
      "perl -e '$x = chr(65) x 40_000_000; sleep 1000' & "
      "perl -e '$x = chr(66) x 40_000_000; sleep 1000' & wait";
  Launch launch = command(hog);
  launch.limits.memory = 60'000'000;
  const Ended ended = run(launch);
  EXPECT_EQ(ended.how, End::over_limit);
  EXPECT_EQ(ended.reason, "used more memory than its limit of 60000000 bytes");
}

TEST_F(Child, AProgramWhoseFirstThreadHasEndedIsStillLookedAt) {
  // System call 60 ends the calling thread only.
  Launch launch = command(
      "exec perl -Mthreads -e 'threads->create(sub { sleep 1; $x = chr(65) x 80_000_000;"
      " sleep 1000 }); syscall(60, 0)'");
  launch.limits.memory = 60'000'000;
  const Ended ended = run(launch);
  EXPECT_EQ(ended.how, End::over_limit) << ended.reason << ended.err;
  EXPECT_TRUE(descendants().empty());
}

TEST_F(Child, CpuTimeOfChildrenThatHaveEndedCounts) {
  const std::string burner = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
  Launch launch = command("while :; do sh -c '" + burner + "'; done");
  launch.limits.cpu = 300ms;
  const Ended ended = run(launch);
  EXPECT_EQ(ended.how, End::over_limit);
  EXPECT_EQ(ended.reason, "used more CPU time than its limit of 300 ms");
}

TEST_F(Child, ProcessesAreLimitedAlsoThoseThatLeftTheSession) {
  Launch launch = command("for i in 1 2 3 4 5; do setsid sleep 1000 & done; sleep 1000");
  launch.limits.processes = 4;
  const Ended ended = run(launch);
  EXPECT_EQ(ended.how, End::over_limit);
  EXPECT_EQ(ended.reason, "had more processes than its limit of 4");
  EXPECT_TRUE(descendants().empty());
}

TEST_F(Child, AFileHasASizeThatItMayNotPass) {
  const std::string file = testing::TempDir() + "limited";
  Launch launch = command("exec dd if=/dev/zero of=" + file + " bs=1M count=10");
  launch.limits.file = 3 << 20;
  const Ended ended = run(launch);
  EXPECT_EQ(ended.how, End::over_limit);
  EXPECT_EQ(ended.reason, "wrote more than its limit of 3145728 bytes to a file");
  struct stat status{};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 3 << 20);
  unlink(file.c_str());
}

TEST_F(Child, WithinItsLimitsItEndsByItself) {
  Launch launch = command("sleep 0.1; cat /proc/self/oom_score_adj");
  launch.limits = {.memory = 1 << 30, .cpu = 20s, .processes = 10, .file = 1 << 20};
  const Ended ended = run(launch);
  EXPECT_EQ(ended.how, End::exited) << ended.reason;
  // Where memory is short it goes first.
  EXPECT_EQ(ended.out, "1000\n");
}

TEST_F(Child, OutputRightBeforeTheEndIsNotLost) {
  const Ended ended = run(command("head -c 900000 /dev/zero"));
  EXPECT_EQ(ended.how, End::exited);
  EXPECT_EQ(ended.out.size(), 900'000U);
}

TEST_F(Child, AMissingProgramIsNotStartedAndSaysWhereItWasSought) {
  Launch launch = command("");
  launch.argv = {"./no-such-program"};
  const Ended ended = run(launch);
  EXPECT_EQ(ended.how, End::not_started);
  EXPECT_THAT(ended.reason, HasSubstr("cannot find the program ./no-such-program"));
}

TEST_F(Child, AFileThatIsNoProgramIsNotStarted) {
  Launch launch = command("");
  launch.argv = {"/etc/passwd"};
  EXPECT_EQ(run(launch).how, End::not_started);
}

TEST_F(Child, AMissingStdinFileIsNotStarted) {
  Launch launch = command("cat");
  launch.stdin_path = "/no/such/input";
  const Ended ended = run(launch);
  EXPECT_EQ(ended.how, End::not_started);
  EXPECT_THAT(ended.reason, HasSubstr("/no/such/input"));
}

TEST_F(Child, AFifoAsStdinIsRefusedAndNotWaitedFor) {
  const std::string fifo = ::testing::TempDir() + "stabd-fifo-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  Launch launch = command("cat");
  launch.stdin_path = fifo;
  const Ended ended = run(launch);
  unlink(fifo.c_str());
  EXPECT_EQ(ended.how, End::not_started);
  EXPECT_THAT(ended.reason, HasSubstr("which is neither a regular file nor"));
}

TEST_F(Child, StdinComesFromTheFile) {
  Launch launch = command("head -n 1");
  launch.stdin_path = "/etc/passwd";
  EXPECT_THAT(run(launch).out, HasSubstr("root"));
}

TEST_F(Child, ARequestToStopEndsIt) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd read_end(ends[0]);
  const Fd write_end(ends[1]);
  ASSERT_TRUE(write_all(write_end.get(), "x"));
  Launch launch = command("sleep 1000");
  launch.stop_fd = read_end.get();
  EXPECT_EQ(run(launch).how, End::stopped);
}

TEST_F(Child, WithoutAslrTheAddressSpaceIsTheSameEachTime) {
  Launch launch = command("grep stack /proc/self/maps");
  EXPECT_EQ(run(launch).out, run(launch).out);
  launch.keep_aslr = true;
  EXPECT_NE(run(launch).out, run(launch).out);
}

TEST_F(Child, NoDescriptorOfOursReachesTheProgram) {
  const Fd ours(open("/dev/null", O_RDONLY));                      // without O_CLOEXEC on purpose
  EXPECT_EQ(run(command("ls /proc/self/fd | wc -l")).out, "4\n");  // 0, 1, 2 and ls's own
}

TEST_F(Child, BindingThatFailsIsNotStarted) {
  Launch launch = command("true");
  launch.bind = [] { return false; };
  EXPECT_EQ(run(launch).how, End::not_started);
}

// As a kernel does that makes no files in memory which may be executed.
bool refuse_executable_memory() {
  constexpr unsigned mfd_exec = 0x10;
  std::array<sock_filter, 6> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mfd_exec, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{filter.size(), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Run by the next test in a process that has started nothing yet.
TEST_F(Child, DISABLED_UnderSuchAKernel) {
  const Ended ended = run(command("true"));
  EXPECT_EQ(ended.how, End::not_started);
  EXPECT_THAT(ended.reason, HasSubstr("vm.memfd_noexec"));
}

TEST_F(Child, AKernelThatExecutesNoFilesInMemoryIsNamed) {
  const pid_t other = fork();
  if (other == 0) {
    if (!refuse_executable_memory()) _exit(2);
    execl("/proc/self/exe", "measured_run_test", "--gtest_filter=*.DISABLED_UnderSuchAKernel",
          "--gtest_also_run_disabled_tests", nullptr);
    _exit(3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(status, 0);
}

TEST_F(Child, WhatStartsItIsNoProcessOfTheProgram) {
  Launch launch = command("exec sleep 0.1");
  launch.limits.processes = 1;
  launch.held = [](pid_t) { std::this_thread::sleep_for(50ms); };  // looks are due at the exec
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run(launch).how, End::exited);
}

TEST_F(Child, AProgramThatStopsWhatStartsItDoesNotKeepUs) {
  // What starts it is the other child of its parent, if it is still there.
  const Ended ended =
      run(command("for p in $(cat /proc/$PPID/task/$PPID/children); do"
                  " [ $p = $$ ] || kill -STOP $p; done 2>/dev/null; exit 3"));
  EXPECT_EQ(ended.exit_code, 3);
}

TEST_F(Child, PeakMemoryIsThatOfTheProgram) {
  const auto peak = [](const char* block) {
    return run(command(std::string("exec dd if=/dev/zero of=/dev/null count=1 bs=") + block))
        .max_rss_bytes.value_or(0);
  };
  EXPECT_GE(peak("200M"), std::int64_t{200} << 20);
  EXPECT_LT(peak("1M"), std::int64_t{200} << 20);
}

TEST_F(Child, PeakMemoryOfASmallProgramIsWhatTheProgramSees) {
  const Ended ended = run(command("exec grep VmHWM /proc/self/status"));
  ASSERT_TRUE(ended.max_rss_bytes);
  long kilobytes = 0;
  ASSERT_EQ(std::sscanf(ended.out.c_str(), "VmHWM: %ld", &kilobytes), 1) << ended.out;
  EXPECT_NEAR(static_cast<double>(*ended.max_rss_bytes) / 1024, kilobytes, 512);
}

TEST_F(Child, TheProgramIsAChildOfOursAndInASessionOfItsOwn) {
  const Ended ended = run(command("exec cut -d' ' -f 1,4,6 /proc/self/stat"));
  EXPECT_EQ(ended.out, fmt::format("{} {} {}\n", ended.pid, getpid(), ended.pid));
}

TEST_F(Child, TheProgramRunsWhereItIsBound) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    Launch launch = command("exec grep Cpus_allowed_list /proc/self/status");
    launch.bind = [cpu] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      return sched_setaffinity(0, sizeof one, &one) == 0;
    };
    EXPECT_EQ(run(launch).out, fmt::format("Cpus_allowed_list:\t{}\n", cpu));
  }
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&after, &allowed));
}

}  // namespace
}  // namespace stab::machine
