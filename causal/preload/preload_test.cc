// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "causal/preload/testing.h"

namespace stab::causal::testing {
namespace {

// A CPU timer goes off at the kernel's ticks alone, and a thread that others share its CPU with may
// be off it at most of them: there are few samples then, or none.
bool are_ticks_missed(uint32_t sampler, const Ran& ran, uint64_t cpu_ns) {
  return sampler == cpu_timer && static_cast<uint64_t>(ran.preempted) > cpu_ns / (10 * ms);
}

// About as many samples as there are for so much CPU time; ticks are coarse, and some threads short.
void expect_samples(uint64_t samples, uint64_t cpu_ns, uint64_t period) {
  const auto wanted = static_cast<double>(cpu_ns) / static_cast<double>(period);
  EXPECT_GE(static_cast<double>(samples), 0.5 * wanted - 4);
  EXPECT_LE(static_cast<double>(samples), 1.6 * wanted + 4);
}

class Samplers : public ::testing::TestWithParam<Sampler> {};

TEST_P(Samplers, SamplesAreOfTheLineThatRuns) {
  Session session({"hot", "cold"});
  session.head().only_sampler = GetParam();
  session.head().is_without_pauses = 1;
  const Ran ran = session.run("hot cold");
  EXPECT_EQ(exit_code(ran), 7);
  EXPECT_EQ(ran.output, "done\n");
  ASSERT_EQ(session.head().sampled_by, GetParam());
  if (!are_ticks_missed(GetParam(), ran, 400 * ms)) {
    expect_samples(session.samples(0), 300 * ms, session.period());
    expect_samples(session.samples(1), 100 * ms, session.period());
  }
  EXPECT_EQ(session.head().threads, 1);
  EXPECT_EQ(session.head().processes, 1);
  EXPECT_GT(session.head().ended_ns, session.head().started_ns);
  EXPECT_EQ(session.head().unwound_short, 0);
  EXPECT_EQ(session.head().owed_ns, 0);
}

TEST_P(Samplers, EachThreadIsSampledFromItsStartToItsEnd) {
  Session session({"hot", "cold"});
  session.head().only_sampler = GetParam();
  const Ran ran = session.run("two exiting thread");
  EXPECT_EQ(session.head().threads, 5);
  if (are_ticks_missed(GetParam(), ran, 900 * ms)) GTEST_SKIP() << "the CPUs are shared";
  expect_samples(session.samples(0), 600 * ms, session.period());
  expect_samples(session.samples(1), 300 * ms, session.period());
}

TEST_P(Samplers, PausesAreTheSpeedupOfTheTimeInTheLine) {
  Session session({"hot", "cold"});
  session.head().only_sampler = GetParam();
  session.head().is_end_to_end = 1;
  session.head().fixed_line = 0;
  session.head().fixed_speedup = 250;
  const Ran ran = session.run("two");
  ASSERT_EQ(session.head().experiments, 1);
  const Experiment& whole = session.experiment(0);
  EXPECT_EQ(whole.line, 0);
  EXPECT_EQ(whole.speedup, 250);
  EXPECT_EQ(whole.line_samples, session.samples(0));
  EXPECT_EQ(whole.samples, session.head().samples);
  if (!are_ticks_missed(GetParam(), ran, 400 * ms))
    expect_samples(whole.line_samples, 400 * ms, session.period());
  // Each sample is rounded down.
  EXPECT_LE(whole.paused_ns, whole.line_ns / 4 + session.head().handed_on_ns);
  EXPECT_GE(whole.paused_ns, whole.line_ns / 4 - whole.line_samples);
  EXPECT_EQ(whole.paused_ns, session.head().owed_ns);
  EXPECT_EQ(whole.start_ns, session.head().started_ns);
}

INSTANTIATE_TEST_SUITE_P(All, Samplers, ::testing::Values(perf_event, perf_event_user, cpu_timer));

TEST(Sampling, CodeOutsideCountsForItsCaller) {
  Session session({"sorts"});
  session.run("sorts");
  expect_samples(session.samples(0), 200 * ms, session.period());
  EXPECT_EQ(session.head().unwound_short, 0);
}

TEST(Sampling, TheRestIsOutside) {
  Session session({"cold"});
  session.run("hot");
  EXPECT_EQ(session.samples(0), 0);
  EXPECT_EQ(session.head().samples_outside, session.head().samples);
  expect_samples(session.head().samples_outside, 300 * ms, session.period());
}

TEST(Sampling, HundredsOfThreads) {
  Session session({"hot"});
  const Ran ran = session.run("many");
  EXPECT_EQ(exit_code(ran), 7);
  EXPECT_EQ(session.head().threads, 501);
}

TEST(Sampling, ThousandsOfThreadsAtOnceWithPauses) {
  Session session({"hot"});
  session.head().is_end_to_end = 1;
  session.head().fixed_line = 0;
  session.head().fixed_speedup = 1000;
  EXPECT_EQ(exit_code(session.run("crowd")), 7);
  EXPECT_EQ(session.head().threads, 2001);
  EXPECT_GT(session.samples(0), 0);
}

TEST(Sampling, HundredsOfThreadsWithPauses) {
  Session session({"hot"});
  session.head().is_end_to_end = 1;
  session.head().fixed_line = 0;
  session.head().fixed_speedup = 1000;
  EXPECT_EQ(exit_code(session.run("many")), 7);
  EXPECT_EQ(session.head().threads, 501);
}

TEST(Sampling, ProgramsThatUseTimersAndBlockAllSignals) {
  Session session({"hot"});
  const Ran ran = session.run("block hot timer");
  EXPECT_EQ(exit_code(ran), 7);
  EXPECT_EQ(ran.output, "blocked as without: 60\ndone\n");
  expect_samples(session.samples(0), 400 * ms, session.period());
}

TEST(Sampling, NoWayToSetAHandlerTakesOurSignal) {
  Session session({"hot"});
  EXPECT_EQ(session.run("ways hot").output, "as set: 8\ndone\n");
  expect_samples(session.samples(0), 300 * ms, session.period());
}

TEST(Sampling, LeavesAlternateStacksTheirRoom) {
  for (const char* size : {"tight", "usual"}) {
    Session session({"sorts"});
    EXPECT_EQ(session.run(size).output, "done\n") << size;
    EXPECT_GT(session.head().samples, 0) << size;
  }
}

TEST(Sampling, InterruptsNoWait) {
  Session session({"hot"});
  EXPECT_EQ(session.run("waits").output, "interrupted: 0\ndone\n");
}

TEST(Pauses, OthersSleepForTheThreadInTheLine) {
  Session session({"hot"});
  session.head().is_end_to_end = 1;
  session.head().fixed_line = 0;
  session.head().fixed_speedup = 500;
  session.run("two");
  // One of two pauses while the other runs, and the first thread waits for both.
  EXPECT_GT(session.head().slept_ns, session.head().owed_ns / 4);
  EXPECT_LE(session.head().slept_ns, session.head().owed_ns * 2);
  // The last pause of the one that sleeps takes too long, by little or more.
  EXPECT_GT(session.head().handed_on_ns, 0);
}

TEST(Pauses, AnExperimentFromEndToEndHasAllVisits) {
  Session session({"hot"});
  session.head().is_end_to_end = 1;
  session.run("hot visit");
  ASSERT_EQ(session.head().experiments, 1);
  const Experiment& whole = session.experiment(0);
  ASSERT_EQ(whole.visits_count, 2);
  EXPECT_EQ(session.visit(0).after, 1);
  EXPECT_EQ(session.visit(1).before, 0);
  EXPECT_EQ(session.visit(1).after, 7);
  EXPECT_EQ(whole.samples, session.head().samples);
}

TEST(Pauses, NoneWhereSamplingAloneIsMeasured) {
  Session session({"hot"});
  session.head().is_without_pauses = 1;
  session.head().is_end_to_end = 1;
  session.head().arrival_ns = ms;
  session.run("two arrive");
  EXPECT_EQ(session.head().owed_ns, 0);
  EXPECT_EQ(session.head().slept_ns, 0);
  EXPECT_EQ(session.head().experiments, 0);
}

TEST(Experiments, ChooseLinesAndSpeedupsByChance) {
  Session session({"hot"});
  session.head().experiment_ns = 10 * ms;
  session.head().cooldown_ns = ms;
  session.head().least_visits = 1;
  const Ran ran = session.run("rounds rounds");
  EXPECT_EQ(exit_code(ran), 7);
  const uint32_t count = session.head().experiments;
  ASSERT_GE(count, 8);
  bool is_any_zero = false;
  bool is_any_more = false;
  for (uint32_t i = 0; i < count; ++i) {
    const Experiment& e = session.experiment(i);
    EXPECT_EQ(e.line, 0);
    EXPECT_LE(e.speedup, 1000);
    EXPECT_EQ(e.speedup % 50, 0);
    (e.speedup == 0 ? is_any_zero : is_any_more) = true;
    EXPECT_LE(e.paused_ns, e.line_ns * e.speedup / 1000 + ms);
    EXPECT_GE(e.duration_ns, e.paused_ns);
    if (i > 0) {
      const Experiment& before = session.experiment(i - 1);
      EXPECT_GE(e.start_ns, before.start_ns + before.duration_ns + session.head().cooldown_ns);
      EXPECT_EQ(e.first_visits, before.first_visits + before.visits_count);
    }
  }
  EXPECT_TRUE(is_any_zero);
  EXPECT_TRUE(is_any_more);
  const Experiment& last = session.experiment(count - 1);
  ASSERT_EQ(session.head().visits, last.first_visits + last.visits_count);
  EXPECT_EQ(session.head().lost_experiments, 0);
}

TEST(Experiments, TooFewVisitsMakeTheNextOneLonger) {
  Session session({"hot"});
  session.head().experiment_ns = 10 * ms;
  session.head().cooldown_ns = ms;
  session.head().fixed_speedup = 0;
  session.head().least_visits = 1000000;
  session.run("rounds");
  ASSERT_GE(session.head().experiments, 2);
  EXPECT_GE(session.experiment(1).duration_ns, 20 * ms);
}

TEST(Experiments, WhatHasNoRoomIsCounted) {
  Session session({"hot"});
  session.head().experiment_ns = 5 * ms;
  session.head().cooldown_ns = ms;
  session.head().experiment_capacity = 2;
  session.head().least_visits = 0;
  session.run("rounds");
  EXPECT_EQ(session.head().experiments, 2);
  EXPECT_GE(session.head().lost_experiments, 1);
}

// The program has visited both of its points before a line of `hot` can be sampled, so that the
// first experiment uses half of the room for visits.
TEST(Experiments, UsedRoomForVisitsMakesTheNextOneLonger) {
  Session session({"hot"});
  session.head().experiment_ns = 10 * ms;
  session.head().cooldown_ns = ms;
  session.head().fixed_speedup = 0;
  session.head().least_visits = 0;
  session.head().visit_capacity = 4;
  session.run("visit rounds");
  ASSERT_EQ(session.head().experiments, 2);
  EXPECT_EQ(session.experiment(0).visits_count, 2);
  EXPECT_GE(session.experiment(1).duration_ns, 20 * ms);
}

// The same program, built by szc with functions that move many times while it runs.
TEST(MovingFunctions, SamplesAreOfTheLinesAsTheyWereLinked) {
  Session session({"hot", "cold"}, moving);
  const Ran ran =
      session.run("two sorts fork", "STABILIZER_OPTIONS=seed=1:period=20ms:budget=off:stack=1");
  EXPECT_EQ(exit_code(ran), 7);
  EXPECT_EQ(ran.output, "done\n");
  expect_samples(session.samples(0), 600 * ms, session.period());
  expect_samples(session.samples(1), 300 * ms, session.period());
  // Each thread and process has passed once through the runtime's functions and ours.
  EXPECT_EQ(session.head().threads, 5);
  EXPECT_EQ(session.head().processes, 2);
  EXPECT_EQ(session.counter(0).count, 1);
}

TEST(MovingFunctions, CallersAreFoundAndProgressIsMade) {
  Session session({"sorts"}, moving);
  session.head().experiment_ns = 10 * ms;
  session.head().cooldown_ns = ms;
  session.run("sorts arrive sorts");
  expect_samples(session.samples(0), 400 * ms, session.period());
  EXPECT_LE(session.head().unwound_short, session.head().samples / 20);
  EXPECT_GT(session.head().experiments, 0);
}

TEST(Processes, ChildrenOfForkAreSampled) {
  Session session({"hot"});
  EXPECT_EQ(exit_code(session.run("fork forks")), 7);
  EXPECT_EQ(session.head().processes, 3);
  expect_samples(session.samples(0), 400 * ms, session.period());
}

TEST(Processes, AnotherProgramJoins) {
  Session session({"hot"});
  const Ran ran = session.run("cold exec");
  EXPECT_EQ(exit_code(ran), 7);
  EXPECT_EQ(session.head().processes, 2);
  expect_samples(session.samples(0), 300 * ms, session.period());
}

TEST(Processes, GoesOnAfterAnExecThatFails) {
  Session session({"hot"});
  session.run("noexec hot");
  EXPECT_EQ(session.head().processes, 1);
  expect_samples(session.samples(0), 300 * ms, session.period());
}

// Samples that are pending when a process becomes another program would end that one.
TEST(Processes, NoSampleEndsTheNextProgram) {
  Session session({"hot"});
  session.head().sample_ns = 100000;
  const Ran ran = session.run_command(
      "/bin/sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 ; do "
      "sh -c \"exec env env env true\" || exit 9; done; exit 5'");
  EXPECT_EQ(exit_code(ran), 5);
}

TEST(Processes, StatusAndOutputStay) {
  Session session({"hot"});
  const Ran ran = session.run("cold exit");
  EXPECT_EQ(exit_code(ran), 42);
  EXPECT_EQ(ran.output, "");
  EXPECT_GT(session.head().ended_ns, 0);
  Session crashed({"hot"});
  const Ran crash = crashed.run("crash");
  EXPECT_EQ(exit_code(crash), 128 + SIGSEGV);
}

TEST(Processes, LeavesTheSessionBeforeASandbox) {
  Session session({"hot"});
  const Ran ran = session.run("cold visit shut");
  EXPECT_EQ(exit_code(ran), 5);
  EXPECT_EQ(ran.output, "shut\n");
  EXPECT_GT(session.head().ended_ns, 0);
}

TEST(Processes, ASandboxedChildOfABareCloneEnds) {
  Session session({"hot"});
  EXPECT_EQ(session.run("visit shutclone hot").output, "done\n");
  EXPECT_GT(session.samples(0), 0);
}

TEST(Threads, AreCancelledWhereASemaphoreIsFree) {
  Session session({"hot"});
  EXPECT_EQ(session.run("cancel").output, "done\n");
}

TEST(Sessions, InvalidOnesAreIgnored) {
  const auto refused = [](void (*damage)(Session&)) {
    Session session({"hot"});
    damage(session);
    const Ran ran = session.run("two coz");
    EXPECT_EQ(exit_code(ran), 7);
    EXPECT_EQ(session.head().started_ns, 0);
    EXPECT_EQ(session.head().samples, 0);
  };
  refused([](Session& s) { s.head().magic ^= 1; });
  refused([](Session& s) { s.head().size += 1; });
  refused([](Session& s) { s.head().objects = s.head().size - 8; });
  refused([](Session& s) { s.head().ranges = UINT64_MAX - 7; });
  refused([](Session& s) { s.head().line_counts += 4; });
  refused([](Session& s) { s.head().counters = 0; });
  refused([](Session& s) { s.head().range_count = UINT32_MAX; });
  refused([](Session& s) { s.head().line_count = UINT32_MAX; });
  refused([](Session& s) { s.head().experiment_capacity = UINT32_MAX; });
  refused([](Session& s) { s.head().visit_capacity = UINT32_MAX; });
  refused([](Session& s) { s.head().sample_ns = 99999; });
  refused([](Session& s) { s.head().fixed_line = 1; });
  refused([](Session& s) { s.head().fixed_speedup = 1001; });
  refused([](Session& s) {
    reinterpret_cast<Object*>(reinterpret_cast<uint8_t*>(&s.head()) + s.head().objects)
        ->first_range = 1;
  });
}

TEST(Sessions, NoneIsNeeded) {
  const std::string preloaded = "LD_PRELOAD='" + library + "' ";
  EXPECT_EQ(
      output_of(preloaded + "'" + work + "' two condition semaphore barrier mutex fork visit"),
      "done\n");
  EXPECT_EQ(output_of("STAB_CAUSAL=/nowhere " + preloaded + "'" + work + "' visit"), "done\n");
  EXPECT_EQ(output_of("STAB_CAUSAL=/dev/null " + preloaded + "'" + work + "' visit"), "done\n");
}

TEST(Sessions, TheFileMayBeAMemfd) {
  Session session({"hot"});
  const std::string path =
      "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(session.fd());
  session.run_command("env STAB_CAUSAL=" + path + " '" + work + "' cold");
  EXPECT_GE(session.head().processes, 2);
}

}  // namespace
}  // namespace stab::causal::testing
