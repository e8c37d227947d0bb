// SPDX-License-Identifier: MIT
// Of real programs. Where this user may not sample, the tests are skipped with the reason that a
// trial's profile would have.
#include "counters/profiles/profiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <string>

#include "base/fd.h"

namespace stab::counters {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* subject = STAB_SUBJECT;

// Runs a program to its end, sampled from exec on.
Profile profile(Profiler& profiler, const char* program, const char* kind, int ms) {
  std::array<int, 2> gate{};
  EXPECT_EQ(pipe2(gate.data(), O_CLOEXEC), 0);
  const std::string places = profiler.make_place_file();
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    setenv("STABILIZER_OPTIONS", ("period=5ms:budget=off:places=" + places).c_str(), 1);
    if (read(gate[0], &byte, 1) == 1)
      execl(program, program, kind, std::to_string(ms).c_str(), nullptr);
    _exit(127);
  }
  profiler.begin(child);
  EXPECT_EQ(write(gate[1], "", 1), 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  close(gate[0]);
  close(gate[1]);
  return profiler.end();
}

std::uint64_t all(const Profile& profile) {
  std::uint64_t samples = 0;
  for (const ProfiledFunction& each : profile.functions) samples += each.samples;
  return samples;
}

std::uint64_t samples_of(const Profile& profile, const std::string& name) {
  std::uint64_t samples = 0;
  for (const ProfiledFunction& each : profile.functions)
    if (each.name == name) samples += each.samples;
  return samples;
}

std::string shown(const Profile& profile) {
  std::string text = profile.reason;
  for (const ProfiledFunction& each : profile.functions)
    text += each.name + " in " + each.object + ": " + std::to_string(each.samples) + "\n";
  return text;
}

// 0.75 of them by their work. With 300 samples and more the share's standard error is below 0.025.
void expect_a_quarter(const Profile& profile) {
  const auto few = static_cast<double>(samples_of(profile, "few"));
  const auto many = static_cast<double>(samples_of(profile, "many"));
  ASSERT_GT(few + many, 300) << shown(profile);
  EXPECT_GT(many / (few + many), 0.6) << shown(profile);
  EXPECT_LT(many / (few + many), 0.9) << shown(profile);
  EXPECT_GT(few + many, 0.8 * static_cast<double>(all(profile))) << shown(profile);
}

#define SKIP_UNLESS_SAMPLED(profiler) \
  if (const std::string why = (profiler).lacking(); !why.empty()) GTEST_SKIP() << why

TEST(Profiler, PutsSamplesDownToTheFunctionsOfAProgram) {
  Profiler profiler("task-clock:u", 997);
  SKIP_UNLESS_SAMPLED(profiler);
  for (int trial = 0; trial < 2; ++trial) {
    const Profile found = profile(profiler, subject, "alone", 600);
    ASSERT_EQ(found.reason, "");
    EXPECT_EQ(found.unit, "ns");
    EXPECT_EQ(found.lost, 0);
    expect_a_quarter(found);
    EXPECT_EQ(found.functions.front().name, "many");
    EXPECT_EQ(found.functions.front().object, "counters_profiles_hot");
  }
}

// Else who waits for it would run round and round for the rest of the trial.
TEST(Profiler, WhatTheKernelHasHungUpKeepsNobodyAwake) {
  Profiler profiler("task-clock:u", 997);
  SKIP_UNLESS_SAMPLED(profiler);
  const pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  profiler.begin(child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  profiler.drain();
  pollfd one{.fd = profiler.fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&one, 1, 100), 0);
  const Profile none = profiler.end();
  EXPECT_EQ(none.reason, "");
  EXPECT_THAT(none.functions, IsEmpty()) << "it never ran";
}

TEST(Profiler, FollowsChildren) {
  Profiler profiler("task-clock:u", 997);
  SKIP_UNLESS_SAMPLED(profiler);
  expect_a_quarter(profile(profiler, subject, "forks", 600));
}

TEST(Profiler, FindsFunctionsThatMoveAllTheTime) {
  Profiler profiler("task-clock:u", 997);
  SKIP_UNLESS_SAMPLED(profiler);
  for (const char* kind : {"alone", "forks"}) {
    const Profile found = profile(profiler, STAB_MOVING, kind, 800);
    expect_a_quarter(found);
    EXPECT_EQ(found.functions.front().object, "counters_profiles_hot_moving");
  }
}

// What the program writes there is its own, but it cannot take away what is read.
TEST(Profiler, TheFileOfPlacesKeepsItsSize) {
  Profiler profiler("task-clock:u", 997);
  const std::string path = profiler.make_place_file();
  ASSERT_NE(path, "");
  EXPECT_NE(truncate(path.c_str(), 0), 0);
  EXPECT_NE(truncate(path.c_str(), 1 << 30), 0);
}

TEST(Profiler, TheRuntimeLeavesOtherFilesAlone) {
  for (const std::string& text : {std::string(8192, 'x'), std::string("short"), std::string()}) {
    char path[] = "/tmp/stab_places_XXXXXX";
    const Fd file(mkstemp(path));
    ASSERT_TRUE(write_all(file.get(), text));
    const std::string command =
        fmt::format("STABILIZER_OPTIONS=period=5ms:places={} {} alone 50", path, STAB_MOVING);
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(read_file(path, 1 << 20).value_or("gone"), text);
    unlink(path);
  }
}

TEST(Profiler, ClocksSampleTheKernelToo) {
  for (const std::string clock : {"task-clock", "cpu-clock"}) {
    const auto both = find_sampled(clock);
    if (!both) GTEST_SKIP() << both.error().message;
    EXPECT_EQ(both->attr.exclude_user, 0) << clock;
    EXPECT_EQ(both->attr.exclude_kernel, 0) << clock;
    const auto own = find_sampled(clock + ":u");
    ASSERT_TRUE(own) << own.error().message;
    EXPECT_EQ(own->attr.exclude_user, 0) << clock;
    EXPECT_EQ(own->attr.exclude_kernel, 1) << clock;
    const std::string why = Profiler(clock, 997).lacking();
    if (why.contains("cannot count events in the kernel"))
      EXPECT_THAT(why, HasSubstr("measure '" + clock + ":u'"));
  }
}

TEST(Profiler, SaysWhyThereIsNoProfile) {
  Profiler unknown("no-such-event", 997);
  EXPECT_THAT(unknown.lacking(), HasSubstr("no-such-event"));
  const Profile none = profile(unknown, "/bin/true", "", 0);
  EXPECT_THAT(none.reason, HasSubstr("no-such-event"));
  EXPECT_THAT(none.functions, IsEmpty());
  // In the kernel only.
  Profiler kernel("context-switches:u", 997);
  EXPECT_NE(kernel.lacking(), "");
  // Nobody told it of a process.
  EXPECT_NE(Profiler("task-clock:u", 997).end().reason, "");
}

}  // namespace
}  // namespace stab::counters
