// SPDX-License-Identifier: MIT
// Which numbers a trial has, and why one that lacks its response does not count.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/fd.h"
#include "counters/events/counting.h"
#include "plan/measures/names.h"
#include "worker/binary.h"
#include "worker/trial_testing.h"

namespace stab::worker {
namespace {

using store::TrialStatus;
using ::testing::HasSubstr;

TEST_F(TrialTest, WhoeverLooksAtTheMachineSeesWhatHappenedAroundTheProgram) {
  const test::Folder tree;
  const auto waited = [&](int us) {
    return fmt::format("some avg10=0.00 avg60=0.00 avg300=0.00 total={}", us);
  };
  tree.write("proc/pressure/memory", waited(1000) + "\n");
  machine::Observer observer({0}, tree / "");
  TrialContext context;
  context.observer = &observer;
  const auto reply = run_trial(
      request(fmt::format("echo {} > {}", waited(1003), tree / "proc/pressure/memory")), context);
  EXPECT_EQ(reply.status, TrialStatus::ok) << reply.reason;
  EXPECT_EQ(reading(reply, "memory-pressure-ns"), 3000);
  EXPECT_EQ(reading(reply, "steal-ns"), std::nullopt);
}

TEST_F(TrialTest, ACounterThatIsTheResponseMustHaveBeenCounted) {
  // Switches of tasks happen in the kernel, which the name leaves out: absent on every machine.
  counters::Counting counting(counters::find_groups({{"context-switches:u"}}).value());
  TrialContext context;
  context.counting = &counting;
  protocol::RunRequest trial = request("exit 0");
  EXPECT_EQ(run_trial(trial, context).status, TrialStatus::ok);
  trial.response = "context-switches:u";
  const auto reply = run_trial(trial, context);
  EXPECT_EQ(reply.status, TrialStatus::not_measured);
  EXPECT_THAT(reply.reason, HasSubstr("could not be counted: the event happens in the kernel"));
}

TEST_F(TrialTest, TheCommandBesideTheProgramIsNotRandomAndGivesTheRelativeCpuTime) {
  const std::string work = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
  // Noise of the machine can double the CPU time of either.
  protocol::RunRequest trial = request("for n in 1 2 3 4 5 6 7 8; do " + work + "; done");
  trial.options = {{"heap", "1"}, {"seed", "7"}};
  trial.env = {{"KEPT", "no"}};
  trial.beside_env = {{"KEPT", "yes"}};
  trial.response = counters::relative_cpu;
  trial.beside = {"/bin/sh", "-c",
                  "case $STABILIZER_OPTIONS in *seed*) exit 9 ;; *heap=0*) ;; *) exit 8 ;; esac\n"
                  "[ $KEPT = yes ] && [ -z \"$LD_PRELOAD\" ] || exit 7\n" +
                      work};
  const auto reply = run_trial(trial, {});
  ASSERT_EQ(reply.status, TrialStatus::ok) << reply.reason;
  const auto relative = store::number_of(reply, counters::relative_cpu);
  ASSERT_TRUE(relative);
  EXPECT_GT(counters::to_double(relative->value), 1.5);
  EXPECT_LT(counters::to_double(relative->value), 40.0);
}

TEST_F(TrialTest, WithoutTheCommandBesideThereIsNoRelativeCpuTime) {
  protocol::RunRequest trial = request("exit 0");
  trial.beside = {"/bin/sh", "-c", "exit 3"};
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::ok) << "the response is another number";
  trial.response = counters::relative_cpu;
  const auto reply = run_trial(trial, {});
  EXPECT_EQ(reply.status, TrialStatus::not_measured);
  EXPECT_EQ(
      reply.reason,
      "the response is relative_cpu, but the command beside the trial ended with exit code 3");
  trial.check.other_exits = {3};
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::ok);
  trial.beside.clear();
  EXPECT_THAT(run_trial(trial, {}).reason, HasSubstr("no command ran beside the trial"));
  trial.beside = {"/no/such/program"};
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::not_started);
}

// cpu-migrations is, and plans refuse it.
TEST_F(TrialTest, NoEventHasTheNameOfAReadingOfEachTrial) {
  machine::Observer observer({0});
  TrialContext context;
  context.observer = &observer;
  const auto reply = run_trial(request("exit 0"), context);
  EXPECT_GT(reply.readings.size(), 10U);
  for (const auto& reading : reply.readings)
    EXPECT_TRUE(reading.name == "cpu-migrations" || !counters::find_event(reading.name))
        << reading.name;
  for (const auto& reading : reply.readings)
    EXPECT_TRUE(plan::is_own_name(reading.name)) << reading.name;
}

TEST_F(TrialTest, WhatIsKnownOfItsBuildIsAReadingOfEachTrial) {
  protocol::RunRequest trial = request("exit 0");
  trial.built = {counters::counted("code-size", "bytes", 5),
                 counters::absent("compile-time", "ns", "nobody knows it")};
  const auto has = [](const protocol::RunReply& reply, const char* name) {
    return std::ranges::find(reply.readings, name, &counters::Reading::name) !=
           reply.readings.end();
  };
  CodeSizes sizes;
  TrialContext context;
  context.sizes = &sizes;
  auto reply = run_trial(trial, context);
  EXPECT_EQ(reading(reply, "code-size"), 5);
  EXPECT_FALSE(has(reply, "compile-time"));
  trial.response = "compile-time";
  reply = run_trial(trial, context);
  EXPECT_EQ(reply.status, TrialStatus::not_measured);
  EXPECT_THAT(reply.reason, HasSubstr("compile-time, which this trial lacks: nobody knows it"));

  // Without a build it is that of the program, but a shell's says nothing.
  trial.built.clear();
  trial.response = "wall";
  EXPECT_FALSE(has(run_trial(trial, context), "code-size"));
  trial.argv = {"true"};
  EXPECT_EQ(reading(run_trial(trial, context), "code-size"), code_size_of("/bin/true").value());
}

TEST_F(TrialTest, MeasuresAreReadingsOfWhatTheProgramPrinted) {
  protocol::RunRequest trial = request("echo ops=25; echo '{\"a\": 4}' >&2");
  trial.outputs = {{.name = "ops", .unit = "1/s", .regex = "ops=(\\d+)"},
                   {.name = "a", .json = "/a", .from_stderr = true}};
  trial.derived = {{.name = "both", .formula = "ops / a + 'leftover-processes'"},
                   {.name = "rate", .formula = "wall / wall"}};
  const auto reply = run_trial(trial, {});
  EXPECT_EQ(reply.status, TrialStatus::ok) << reply.reason;
  ASSERT_GE(reply.readings.size(), 4U);
  const auto* readings = &reply.readings[reply.readings.size() - 4];
  EXPECT_EQ(readings[0], counters::counted("ops", "1/s", 25));
  EXPECT_EQ(readings[1], counters::counted("a", "", 4));
  EXPECT_EQ(readings[2], counters::counted("both", "", 6.25));
  EXPECT_EQ(readings[3], counters::counted("rate", "", 1.0));
}

TEST_F(TrialTest, OutputThatWasCutIsNotRead) {
  for (const std::string script :
       {"echo t=1; while :; do echo t=2; done", "echo t=1; kill -9 $$"}) {
    protocol::RunRequest trial = request(script);
    trial.output_limit = 1000;
    trial.outputs = {{.name = "t", .unit = "ns", .regex = "t=(.)", .pick = plan::Pick::last}};
    trial.derived = {{.name = "half", .formula = "t / 2"}};
    const auto reply = run_trial(trial, {});
    EXPECT_NE(reply.status, TrialStatus::ok);
    EXPECT_THAT(reply.readings.back().reason, HasSubstr("t is absent: stdout was cut off: "));
  }
}

TEST_F(TrialTest, AMeasureThatIsTheResponseMustBeThere) {
  protocol::RunRequest trial = request("echo t=x");
  trial.outputs = {{.name = "t", .regex = "t=(.)"}};
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::ok);
  trial.response = "t";
  const auto reply = run_trial(trial, {});
  EXPECT_EQ(reply.status, TrialStatus::not_measured);
  EXPECT_EQ(reply.reason,
            "the response is t, which this trial lacks: stdout: 'x' is not a usable number");
  trial.argv.back() = "echo t=7";
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::ok);
}

TEST_F(TrialTest, AProgramThatMayNotBeReadIsNotCounted) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root may read everything; the system's test has another user";
  folder_.write("copy", read_file("/bin/true", 1 << 24).value());
  chmod((folder_ / "copy").c_str(), 0111);
  counters::Counting counting(counters::find_groups({{"page-faults:u"}}).value());
  TrialContext context;
  context.counting = &counting;
  protocol::RunRequest trial = request("");
  trial.argv = {folder_ / "copy"};
  const auto reply = run_trial(trial, context);
  EXPECT_EQ(reply.status, TrialStatus::ok) << reply.reason;
  EXPECT_EQ(reply.readings.back().name, "page-faults:u");
  EXPECT_EQ(reply.readings.back().status, counters::Status::absent);
}

TEST_F(TrialTest, TheCheckOfAnOutputIsNotCounted) {
  counters::Counting counting(counters::find_groups({{"task-clock"}}).value());
  if (!counting.lacking().empty()) GTEST_SKIP() << counting.lacking().front().reason;
  TrialContext context;
  context.counting = &counting;
  protocol::RunRequest trial = request("exit 0");
  trial.check.command = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done";
  const auto reply = run_trial(trial, context);
  ASSERT_EQ(reply.status, TrialStatus::ok) << reply.reason;
  const auto busy = reading(reply, "task-clock");
  ASSERT_TRUE(busy);
  EXPECT_LE(*busy, 2 * *reply.wall_ns);
}

TEST_F(TrialTest, ATrialWithoutItsResponseDoesNotCount) {
  protocol::RunRequest trial = request("true");
  trial.response = "region";
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::not_measured);
  trial.response = "wall";
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::ok);
}

}  // namespace
}  // namespace stab::worker
