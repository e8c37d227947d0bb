// SPDX-License-Identifier: MIT
// Against numbers that are known: real events of real programs. What this machine does not let us count is skipped with
// the reason that a user would get.
#include "counters/events/counting.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <limits>

namespace stab::counters {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr const char* subject = STAB_SUBJECT;

Event event(const std::string& name) {
  auto found = find_event(name);
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : Event{};
}

// Runs the subject to its end, counted from exec on.
std::vector<Reading> count(
    const std::vector<Group>& groups, const char* kind, int number, const char* program = subject,
    const std::function<void()>& before = [] {}) {
  std::array<int, 2> gate{};
  EXPECT_EQ(pipe2(gate.data(), O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    // Where the stack begins decides how many pages it touches.
    personality(ADDR_NO_RANDOMIZE);
    char byte = 0;
    const bool open = read(gate[0], &byte, 1) == 1;
    before();
    if (open) execl(program, program, kind, std::to_string(number).c_str(), nullptr);
    _exit(127);
  }
  Counting counting(groups);
  counting.begin(child);
  EXPECT_EQ(write(gate[1], "", 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  close(gate[0]);
  close(gate[1]);
  return counting.end();
}

std::int64_t number_of(const Reading& reading) {
  EXPECT_EQ(reading.status, Status::counted) << reading.name << ": " << reading.reason;
  return reading.status == Status::counted ? std::get<std::int64_t>(reading.value) : -1;
}

std::int64_t count_one(const std::string& name, const char* kind, int number) {
  const auto readings = count({{event(name)}}, kind, number);
  EXPECT_EQ(readings.size(), 1);
  EXPECT_EQ(readings.front().name, name);
  return number_of(readings.front());
}

struct Addresses {
  std::string called;
  std::string written;
};
Addresses addresses() {
  std::array<char, 64> called{};
  std::array<char, 64> written{};
  FILE* const out = popen(subject, "r");
  if (out == nullptr || fscanf(out, "%63s %63s", called.data(), written.data()) != 2)
    ADD_FAILURE() << "the subject does not say where it is";
  if (out != nullptr) pclose(out);
  return {called.data(), written.data()};
}

std::string why_not(const std::string& name) {
  const auto found = find_event(name);
  if (!found) return found.error().message;
  const auto open = open_event(*found, 0);
  return open ? "" : open.error();
}
#define NEEDS(name) \
  if (const std::string why = why_not(name); !why.empty()) GTEST_SKIP() << (name) << ": " << why

TEST(Counting, CallsOfAFunction) {
  const std::string name = "mem:" + addresses().called + ":x";
  NEEDS(name);
  EXPECT_EQ(count_one(name, "calls", 100), 100);
  EXPECT_EQ(count_one(name, "calls", 0), 0);
}

TEST(Counting, WritesOfAVariable) {
  const std::string name = "mem:" + addresses().written + "/4:w";
  NEEDS(name);
  EXPECT_EQ(count_one(name, "writes", 250), 250);
}

TEST(Counting, EachProcessOfATreeOnce) {
  const std::string name = "mem:" + addresses().called + ":x";
  NEEDS(name);
  EXPECT_EQ(count_one(name, "tree", 5), 5);
}

TEST(Counting, FreshPages) {
  NEEDS("minor-faults:u");
  const auto few = count_one("minor-faults:u", "pages", 1000);
  const auto many = count_one("minor-faults:u", "pages", 2000);
  EXPECT_EQ(many - few, 1000);
}

TEST(Counting, SwitchesOfSleeps) {
  NEEDS("context-switches");
  // Somebody else may take the CPU as well, but hardly from each of ten programs that end at once.
  std::int64_t none = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 10; ++i) none = std::min(none, count_one("context-switches", "sleeps", 0));
  const auto many = count_one("context-switches", "sleeps", 200);
  EXPECT_GE(many - none, 200);
  EXPECT_LT(many - none, 2000);
}

// Tracepoints are seen below a mounted tracefs alone, which here nobody else sees.
class Tracepoints : public testing::Test {
 protected:
  static constexpr const char* folder = "/sys/kernel/tracing";

  void SetUp() override {
    if (access("/sys/kernel/tracing/events", F_OK) == 0) return;
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tracefs", folder, "tracefs", 0, nullptr) != 0)
      GTEST_SKIP() << "tracefs cannot be mounted here";
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) umount2(folder, MNT_DETACH);
  }

  bool mounted_ = false;
};

TEST_F(Tracepoints, CountForksAndSleepsExactly) {
  NEEDS("sched:sched_process_fork");
  EXPECT_EQ(count_one("sched:sched_process_fork", "tree", 5), 5);
  EXPECT_EQ(count_one("sched:sched_process_fork", "calls", 5), 0);
  NEEDS("syscalls:sys_enter_clock_nanosleep");
  EXPECT_EQ(count_one("syscalls:sys_enter_clock_nanosleep", "sleeps", 30), 30);
  EXPECT_EQ(count_one("syscalls:sys_enter_clock_nanosleep:k", "sleeps", 30), 30);
}

TEST_F(Tracepoints, WithoutTheKernelsSideAreAbsent) {
  NEEDS("sched:sched_process_fork");
  EXPECT_EQ(why_not("sched:sched_process_fork:u"),
            "the event happens in the kernel, but a modifier in its name excludes the kernel");
}

TEST_F(Tracepoints, AMisspeltOneGetsTheNearest) {
  NEEDS("sched:sched_process_fork");
  EXPECT_THAT(why_not("sched:sched_proces_fork"),
              HasSubstr("did you mean 'sched:sched_process_fork'?"));
}

// The kernel's device for the time stamp counter, whose clock everybody reads.
TEST(Counting, ADevicesEventByItsTerms) {
  NEEDS("msr/tsc/");
  const auto before = __builtin_ia32_rdtsc();
  const auto counted = count_one("msr/tsc/", "pages", 20'000);
  const auto by_number = count_one("msr/event=0x00/", "pages", 20'000);
  const auto passed = static_cast<std::int64_t>(__builtin_ia32_rdtsc() - before);
  EXPECT_GT(counted, 0);
  EXPECT_GT(by_number, 0);
  EXPECT_LT(counted + by_number, passed);
  EXPECT_GT(counted + by_number, passed / 1000) << "it was counted while the programs ran";
}

TEST(Counting, ClocksCountTheKernelsSideToo) {
  NEEDS("task-clock");
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_CHILDREN, &before);
  const auto counted = count_one("task-clock", "pages", 50'000);
  getrusage(RUSAGE_CHILDREN, &after);
  const auto us = [](const timeval& time) { return time.tv_sec * 1'000'000 + time.tv_usec; };
  const auto all =
      us(after.ru_utime) - us(before.ru_utime) + us(after.ru_stime) - us(before.ru_stime);
  const auto kernels = us(after.ru_stime) - us(before.ru_stime);
  EXPECT_GT(kernels, all / 20) << "the kernel had little to do";
  EXPECT_GT(counted, (all - kernels / 2) * 1000);
}

// What the child does before it is somebody else's.
TEST(Counting, BeginsAtExec) {
  NEEDS("minor-faults:u");
  const auto pages = [](const std::function<void()>& before) {
    return number_of(count({{event("minor-faults:u")}}, "pages", 10, subject, before).front());
  };
  const auto usual = pages([] {});
  EXPECT_LT(pages([] {
              const std::size_t size = std::size_t{40} << 20;
              auto* memory = static_cast<volatile char*>(
                  mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
              madvise(const_cast<char*>(memory), size, MADV_NOHUGEPAGE);
              for (std::size_t i = 0; i < size; i += 4096) memory[i] = 1;
            }),
            usual + 1000);
}

TEST(Counting, WhatTheKernelStoresForAProgramIsNoAccess) {
  const std::string name = "mem:" + addresses().written + "/4:w";
  NEEDS(name);
  EXPECT_EQ(count_one(name, "reads", 20), 0);
}

TEST(Counting, ANameThatIsNoneHereIsAbsentWithItsReason) {
  Counting counting(groups_of({{"no-such-event"}}));
  const auto missing = counting.lacking();
  ASSERT_EQ(missing.size(), 1U);
  EXPECT_EQ(missing.front().name, "no-such-event");
  EXPECT_EQ(missing.front().reason, find_event("no-such-event").error().message);
  EXPECT_FALSE(find_groups({{"no-such-event"}}));
}

TEST(Counting, ReadingsAreCountedScaledOrAbsent) {
  const Event cycles{.name = "cycles"};
  const Reading whole = reading_of(cycles, {.value = 100, .enabled = 50, .running = 50});
  EXPECT_EQ(whole.status, Status::counted);
  EXPECT_EQ(whole.value, Number(std::int64_t{100}));
  const Reading part = reading_of(cycles, {.value = 100, .enabled = 50, .running = 20});
  EXPECT_EQ(part.status, Status::scaled);
  EXPECT_EQ(part.coverage, 0.4);
  EXPECT_EQ(part.value, Number(250.0));
  EXPECT_THAT(reading_of(cycles, {.value = 0, .enabled = 50, .running = 0}).reason,
              HasSubstr("never got a counter"));
  EXPECT_EQ(reading_of(cycles, {}).reason, "the program did not start");
  EXPECT_EQ(reading_of(cycles, {.value = ~0ULL, .enabled = 1, .running = 1}).status,
            Status::absent);
}

TEST(Counting, WhatOnlyHappensInTheKernelIsAbsentWithoutIt) {
  const auto readings = count({{event("context-switches:u")}}, "sleeps", 50);
  EXPECT_EQ(readings.front().status, Status::absent);
  EXPECT_THAT(readings.front().reason, HasSubstr("happens in the kernel"));
}

TEST(Counting, WhoIsNotExecutedHasNoNumbers) {
  NEEDS("task-clock");
  const auto readings = count({{event("task-clock")}}, "", 0, "/no/such/program");
  EXPECT_EQ(readings.front().status, Status::absent);
  EXPECT_EQ(readings.front().reason, "the program did not start");
}

TEST(Counting, NobodyCounted) {
  EXPECT_EQ(Counting({{event("task-clock")}}).end().front().reason, "nothing counted it");
}

TEST(Counting, AGroupIsCountedTogetherOrNotAtAll) {
  NEEDS("task-clock");
  const auto whole =
      count({{event("task-clock"), event("page-faults:u")}, {event("cpu-clock")}}, "pages", 10);
  ASSERT_EQ(whole.size(), 3);
  EXPECT_GT(number_of(whole[0]), 0);
  EXPECT_GE(number_of(whole[1]), 10);
  EXPECT_GT(number_of(whole[2]), 0);
  const auto broken = count(
      {{event("task-clock"), event("context-switches:u")}, {event("cpu-clock")}}, "pages", 10);
  EXPECT_EQ(broken[0].status, Status::absent);
  EXPECT_THAT(broken[0].reason, HasSubstr("together with context-switches:u"));
  EXPECT_EQ(broken[1].status, Status::absent);
  EXPECT_EQ(broken[1].reason,
            "the event happens in the kernel, but a modifier in its name excludes the kernel");
  EXPECT_GT(number_of(broken[2]), 0);
}

TEST(Counting, HardwareThatIsNotThereIsSaid) {
  const std::string why = why_not("cycles:u");
  if (why.empty()) {
    EXPECT_GT(count_one("cycles:u", "calls", 1000), 1000);
    return;
  }
  const auto readings = count({{event("cycles:u")}}, "calls", 1000);
  EXPECT_EQ(readings.front().status, Status::absent);
  EXPECT_EQ(readings.front().reason, why);
}

TEST(Counting, AtOnce) {
  NEEDS("task-clock");
  EXPECT_EQ(counted_at_once(event("task-clock"), 5).value(), 5);
  const auto none = counted_at_once(event("context-switches:u"), 5);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error(), HasSubstr("happens in the kernel"));
}

// Who has no rights counts their own programs' side, or learns what to change.
TEST(Counting, EventsOfTheKernelFitHoweverManyThereAre) {
  if (const auto open = open_event(event("page-faults:u"), 0); !open) GTEST_SKIP() << open.error();
  Group many(40, event("page-faults:u"));
  many.push_back(event("task-clock"));
  EXPECT_TRUE(Counting({many, {event("minor-faults:u")}}).fits());
  EXPECT_TRUE(Counting({}).fits());
}

TEST(Counting, CountersOfTheCpuFitUpToTheirNumber) {
  const Event branches = event("branches:u");
  const auto number = counted_at_once(branches, 16);
  if (!number) GTEST_SKIP() << number.error();
  const std::vector<Group> single(*number + 8, {branches});
  EXPECT_FALSE(Counting(single).fits());
  EXPECT_TRUE(Counting({{branches}}).fits());
}

TEST(Counting, AsAUserWithoutRights) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody else";
  NEEDS("page-faults:u");
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) _exit(1);
    const std::string said = why_not("context-switches") + "|" + why_not("page-faults:u");
    _exit(write(ends[1], said.data(), said.size()) > 0 ? 0 : 1);
  }
  close(ends[1]);
  std::array<char, 1000> text{};
  const ssize_t size = read(ends[0], text.data(), text.size());
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_GT(size, 0);
  const std::string said(text.data(), static_cast<std::size_t>(size));
  // Each of the two is counted, or the answer names the setting.
  const std::string kernels = said.substr(0, said.find('|'));
  const std::string own = said.substr(said.find('|') + 1);
  if (!kernels.empty())
    EXPECT_THAT(kernels, AnyOf(HasSubstr("perf_event_paranoid="), HasSubstr("a filter")));
  if (!own.empty())
    EXPECT_THAT(own, AnyOf(HasSubstr("perf_event_paranoid=2"), HasSubstr("a filter")));
  if (own.empty() && !kernels.empty()) EXPECT_THAT(kernels, HasSubstr("perf_event_paranoid=1"));
}

}  // namespace
}  // namespace stab::counters
