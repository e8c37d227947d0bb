// SPDX-License-Identifier: MIT
#include "stabd/worker/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "base/duration.h"
#include "base/fd.h"
#include "base/hash.h"
#include "counters/events/counting.h"
#include "design/resolve.h"
#include "plan/measures/own_names.h"
#include "stabd/testing.h"

namespace stab::worker {
namespace {

using namespace std::chrono_literals;
using store::TrialStatus;
using ::testing::HasSubstr;
using ::testing::Not;

class TrialTest : public ::testing::Test {
 protected:
  TrialTest() { folder_.write("expected.txt", "hello\n"); }
  void SetUp() override { ASSERT_TRUE(machine::adopt_orphans()); }

  [[nodiscard]] protocol::RunRequest request(const std::string& script) const {
    protocol::RunRequest request;
    request.argv = {"/bin/sh", "-c", script};
    request.directory = folder_ / "";
    request.timeout = 30s;
    request.output_limit = 1 << 20;
    return request;
  }
  // A trial that says hello, with a check that `judge` makes.
  [[nodiscard]] protocol::RunReply hello(const std::function<void(plan::Check&)>& judge) const {
    protocol::RunRequest trial = request("echo hello");
    judge(trial.check);
    return run_trial(trial, {});
  }
  [[nodiscard]] protocol::RunReply by_digest(const std::string& digest) const {
    return hello([&](plan::Check& check) { check.stdout_sha256 = digest; });
  }
  [[nodiscard]] protocol::RunReply by_file(const std::string& file) const {
    return hello([&](plan::Check& check) { check.stdout_file = file; });
  }
  [[nodiscard]] protocol::RunReply by_command(const std::string& command) const {
    return hello([&](plan::Check& check) { check.command = command; });
  }

  test::Folder folder_;
};

std::optional<std::int64_t> reading(const protocol::RunReply& reply, const std::string& name) {
  for (const auto& reading : reply.readings)
    if (reading.name == name && reading.status == counters::Status::counted)
      return std::get<std::int64_t>(reading.value);
  return std::nullopt;
}

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
  EXPECT_THAT(reply.reason, HasSubstr("could not be counted: it happens in the kernel"));
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

const counters::Reading& last_reading(const protocol::RunReply& reply) {
  return reply.readings.back();
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
    EXPECT_THAT(last_reading(reply).reason, HasSubstr("t is absent: stdout was cut: "));
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
            "the response is t, which this trial lacks: stdout: 'x' is no number that can be used");
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

TEST_F(TrialTest, ASuccessHasItsTimesItsReadingsAndItsOutputsDigest) {
  const auto reply = run_trial(request("echo hello; echo note >&2"), {});
  EXPECT_EQ(reply.status, TrialStatus::ok);
  EXPECT_EQ(reply.reason, "");
  EXPECT_EQ(reply.exit_code, 0);
  EXPECT_EQ(reply.signal, std::nullopt);
  EXPECT_GT(reply.started_ns, 0);
  EXPECT_GT(reply.wall_ns, 0);
  EXPECT_TRUE(reply.user_ns.has_value());
  EXPECT_TRUE(reply.system_ns.has_value());
  EXPECT_EQ(reply.stdout_sha256, sha256_hex("hello\n"));
  EXPECT_EQ(reply.stderr_tail, "note\n");
  EXPECT_EQ(reading(reply, "leftover-processes"), 0);
  EXPECT_GT(reading(reply, "page-faults-minor"), 0);
}

TEST_F(TrialTest, ThePeakMemoryOfALargeProgramIsReported) {
  const auto reply = run_trial(request("exec dd if=/dev/zero of=/dev/null count=1 bs=600M"), {});
  EXPECT_GE(reply.max_rss_bytes, std::int64_t{600} << 20);
}

TEST_F(TrialTest, AnotherExitCodeThanTheExpectedOneIsWrong) {
  const auto reply = run_trial(request("exit 3"), {});
  EXPECT_EQ(reply.status, TrialStatus::wrong_exit);
  EXPECT_EQ(reply.exit_code, 3);
  EXPECT_EQ(reply.reason, "ended with exit code 3, not 0");
  EXPECT_GT(reply.wall_ns, 0);
}

TEST_F(TrialTest, TheExpectedExitCodeNeedNotBeZero) {
  protocol::RunRequest trial = request("exit 3");
  trial.check.exit = 3;
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::ok);
  trial.argv = {"/bin/true"};
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::wrong_exit);
}

TEST_F(TrialTest, AProgramThatASignalEndedHasNoExitCode) {
  const auto reply = run_trial(request("kill -ABRT $$"), {});
  EXPECT_EQ(reply.status, TrialStatus::signalled);
  EXPECT_EQ(reply.signal, SIGABRT);
  EXPECT_EQ(reply.exit_code, std::nullopt);
  EXPECT_THAT(reply.reason, HasSubstr("signal 6"));
}

TEST_F(TrialTest, AProgramThatHangsIsEndedWithItsChildren) {
  protocol::RunRequest trial = request("echo before >&2; setsid sleep 1000 & sleep 1000");
  // Long enough for it to begin, on a busy machine, too.
  protocol::RunReply reply;
  for (trial.timeout = 300ms; reply.stderr_tail.empty() && trial.timeout < 100s;
       trial.timeout *= 5) {
    reply = run_trial(trial, {});
    EXPECT_EQ(reply.status, TrialStatus::timeout);
    EXPECT_THAT(reply.reason, HasSubstr("timeout of " + format_duration(trial.timeout)));
  }
  EXPECT_EQ(reply.stderr_tail, "before\n");
  EXPECT_EQ(reply.exit_code, std::nullopt);
  EXPECT_GE(reply.wall_ns, 200'000'000);
  EXPECT_TRUE(machine::descendants().empty());
}

TEST_F(TrialTest, AProgramThatPrintsWithoutEndIsEnded) {
  const auto reply = run_trial(request("yes"), {});
  EXPECT_EQ(reply.status, TrialStatus::output_limit);
  EXPECT_THAT(reply.reason, HasSubstr("output limit of 1048576 bytes"));
}

TEST_F(TrialTest, OfASmallProgramTheMemoryIsKnown) {
  protocol::RunRequest trial = request("");
  trial.argv = {"/bin/true"};
  const auto reply = run_trial(trial, {});
  EXPECT_EQ(reply.status, TrialStatus::ok) << reply.reason;
  EXPECT_GT(reply.max_rss_bytes, 500 << 10);
  EXPECT_LT(reply.max_rss_bytes, 4 << 20);
}

TEST_F(TrialTest, AMissingProgramIsNotStartedAndHasNoTimes) {
  protocol::RunRequest trial = request("");
  trial.argv = {"./missing"};
  const auto reply = run_trial(trial, {});
  EXPECT_EQ(reply.status, TrialStatus::not_started);
  EXPECT_THAT(reply.reason, HasSubstr("./missing"));
  EXPECT_EQ(reply.wall_ns, std::nullopt);
  EXPECT_EQ(reply.user_ns, std::nullopt);
  EXPECT_EQ(reply.system_ns, std::nullopt);
  EXPECT_EQ(reply.max_rss_bytes, std::nullopt);
  EXPECT_EQ(reply.exit_code, std::nullopt);
  EXPECT_TRUE(reply.readings.empty());
}

TEST_F(TrialTest, AMissingInputIsNotStarted) {
  protocol::RunRequest trial = request("cat");
  trial.stdin_path = folder_ / "missing.txt";
  const auto reply = run_trial(trial, {});
  EXPECT_EQ(reply.status, TrialStatus::not_started);
  EXPECT_THAT(reply.reason, HasSubstr("missing.txt"));
}

TEST_F(TrialTest, ATrialThatIsStoppedDoesNotCount) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd read_end(ends[0]);
  Fd(ends[1]).reset();
  TrialContext context;
  context.stop_fd = read_end.get();
  const auto reply = run_trial(request("sleep 1000"), context);
  EXPECT_EQ(reply.status, TrialStatus::not_started);
  EXPECT_EQ(reply.wall_ns, std::nullopt);
  EXPECT_TRUE(machine::descendants().empty());
}

TEST_F(TrialTest, WithoutItsCpusATrialIsNotStarted) {
  TrialContext context;
  context.bind = [] { return false; };
  const auto reply = run_trial(request("true"), context);
  EXPECT_EQ(reply.status, TrialStatus::not_started);
  EXPECT_THAT(reply.reason, HasSubstr("CPUs"));
}

TEST_F(TrialTest, ChildrenThatAreLeftBehindAreCounted) {
  const auto reply = run_trial(request("setsid sleep 1000 & exit 0"), {});
  EXPECT_EQ(reply.status, TrialStatus::ok);
  EXPECT_EQ(reading(reply, "leftover-processes"), 1);
}

TEST_F(TrialTest, OutputIsComparedByItsDigest) {
  EXPECT_EQ(by_digest(sha256_hex("hello\n")).status, TrialStatus::ok);
  const auto wrong = by_digest(sha256_hex("hello"));
  EXPECT_EQ(wrong.status, TrialStatus::check_failed);
  EXPECT_THAT(wrong.reason, HasSubstr(sha256_hex("hello\n")));
  EXPECT_THAT(wrong.reason, HasSubstr(sha256_hex("hello")));
  EXPECT_EQ(wrong.exit_code, 0);
}

TEST_F(TrialTest, OutputIsComparedWithAFile) {
  EXPECT_EQ(by_file("expected.txt").status, TrialStatus::ok);
  EXPECT_EQ(by_file(folder_ / "expected.txt").status, TrialStatus::ok);
  folder_.write("expected.txt", "hello\nagain\n");
  const auto wrong = by_file("expected.txt");
  EXPECT_EQ(wrong.status, TrialStatus::check_failed);
  EXPECT_EQ(wrong.reason, "stdout differs from expected.txt");
}

TEST_F(TrialTest, AMissingExpectationIsNotASuccess) {
  const auto reply = by_file("missing.txt");
  EXPECT_EQ(reply.status, TrialStatus::check_failed);
  EXPECT_THAT(reply.reason, HasSubstr("missing.txt"));
}

TEST_F(TrialTest, ACheckCommandGetsTheOutputOnItsStdin) {
  EXPECT_EQ(by_command("grep -qx hello").status, TrialStatus::ok);
  const auto wrong = by_command("echo no good; grep -qx goodbye");
  EXPECT_EQ(wrong.status, TrialStatus::check_failed);
  EXPECT_EQ(wrong.reason, "the check command ended with exit code 1: no good");
}

TEST_F(TrialTest, ACheckCommandGetsAllOfALargeOutput) {
  protocol::RunRequest trial = request("head -c 1000000 /dev/zero");
  trial.check.command = "test $(wc -c) = 1000000";
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::ok);
}

TEST_F(TrialTest, ACheckCommandThatHangsOrCrashesIsNotASuccess) {
  protocol::RunRequest trial = request("echo hello");
  trial.check.command = "sleep 1000";
  trial.timeout = 300ms;
  const auto hung = run_trial(trial, {});
  EXPECT_EQ(hung.status, TrialStatus::check_failed);
  EXPECT_THAT(hung.reason, HasSubstr("timeout"));
  EXPECT_THAT(by_command("kill -SEGV $$").reason, HasSubstr("signal 11"));
}

TEST_F(TrialTest, ACheckRunsBesideTheTrialsCpus) {
  TrialContext context;
  context.bind = [] { return true; };
  context.bind_others = [] { return false; };
  protocol::RunRequest trial = request("echo hello");
  EXPECT_EQ(run_trial(trial, context).status, TrialStatus::ok);
  trial.check.command = "true";
  EXPECT_EQ(run_trial(trial, context).status, TrialStatus::check_failed);
}

TEST_F(TrialTest, EveryCheckOfAPlanMustHold) {
  const auto judged = [&](const std::string& command) {
    return hello([&](plan::Check& check) {
             check.stdout_sha256 = sha256_hex("hello\n");
             check.stdout_file = "expected.txt";
             check.command = command;
           })
        .status;
  };
  EXPECT_EQ(judged("true"), TrialStatus::ok);
  EXPECT_EQ(judged("false"), TrialStatus::check_failed);
  folder_.write("expected.txt", "other");
  EXPECT_EQ(judged("true"), TrialStatus::check_failed);
}

TEST_F(TrialTest, AWrongExitIsReportedEvenIfTheOutputIsWrongToo) {
  protocol::RunRequest trial = request("echo bye; exit 1");
  trial.check.stdout_file = "expected.txt";
  trial.check.command = "touch checked";
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::wrong_exit);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "checked"));
}

TEST_F(TrialTest, TheEnvironmentIsThePlansWithTheMarkAndOfTheSameSize) {
  TrialContext marked;
  marked.marker = "MARK=here";
  protocol::RunRequest trial = request("echo $FLAVOUR $MARK; wc -c < /proc/$$/environ >&2");
  trial.env = {{"FLAVOUR", "sour"}};
  trial.check.stdout_sha256 = sha256_hex("sour here\n");
  const auto reply = run_trial(trial, marked);
  EXPECT_EQ(reply.status, TrialStatus::ok) << reply.reason;
  trial.env = {{"FLAVOUR", "sour"}, {"LONGER", std::string(100, 'x')}};
  EXPECT_EQ(run_trial(trial, marked).stderr_tail, reply.stderr_tail);
  trial.env_bytes = 777;
  EXPECT_EQ(std::stoi(run_trial(trial, marked).stderr_tail), std::stoi(reply.stderr_tail) + 777);
}

TEST_F(TrialTest, OptionsOfTheRuntimeHaveOneSizeAndAPlaceToReportTo) {
  protocol::RunRequest trial =
      request("printf %s \"$STABILIZER_OPTIONS\" | wc -c; cat /proc/$$/environ | wc -c");
  trial.options = {{"code", "0"}, {"seed", "1"}};
  const auto short_one = run_trial(trial, {});
  EXPECT_EQ(short_one.status, TrialStatus::ok);
  trial.options = {{"code", "1"}, {"rerandomize", "repeated"}, {"seed", "18446744073709551615"}};
  EXPECT_EQ(run_trial(trial, {}).stdout_sha256, short_one.stdout_sha256);
  trial.argv = {"/bin/sh", "-c",
                R"(r=${STABILIZER_OPTIONS##*report=}; r=${r%%:*}
                   echo '{"event":"start","pid":'$$',"code":"on","rerandomize":"once",
                          "randomized":"yes"}' | tr -d '\n ' >> $r; echo >> $r)"};
  const auto reported = run_trial(trial, {});
  EXPECT_EQ(reported.layout.randomized, true) << reported.layout.note;
  EXPECT_EQ(reported.layout.kind, "code once");
}

TEST_F(TrialTest, ATrialWithoutTheLayoutThatItNeedsDoesNotCount) {
  protocol::RunRequest trial = request("true");
  EXPECT_EQ(run_trial(trial, {}).layout, store::Layout());
  trial.needs = plan::Needs::randomized;
  const auto plain = run_trial(trial, {});
  EXPECT_EQ(plain.status, TrialStatus::not_randomized);
  EXPECT_THAT(plain.reason, HasSubstr("build it with szc"));
  EXPECT_GT(plain.wall_ns, 0);
  trial.check.exit = 1;
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::wrong_exit);
}

TEST_F(TrialTest, ATrialWithoutItsResponseDoesNotCount) {
  protocol::RunRequest trial = request("true");
  trial.response = "region";
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::not_measured);
  trial.response = "wall";
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::ok);
}

TEST_F(TrialTest, ACheckCommandDoesNotReport) {
  protocol::RunRequest trial = request("true");
  trial.check.command = "case $STABILIZER_OPTIONS in *report=*) exit 1;; esac";
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::ok);
}

TEST_F(TrialTest, TheProgramRunsInItsDirectoryWithItsInput) {
  protocol::RunRequest trial = request("cat; cat expected.txt");
  trial.stdin_path = folder_ / "expected.txt";
  EXPECT_EQ(run_trial(trial, {}).stdout_sha256, sha256_hex("hello\nhello\n"));
}

TEST_F(TrialTest, AslrIsAsThePlanSays) {
  protocol::RunRequest trial = request("");
  trial.argv = {"/bin/grep", "stack", "/proc/self/maps"};
  const auto digest = [&] { return run_trial(trial, {}).stdout_sha256; };
  EXPECT_EQ(digest(), digest());
  trial.aslr = true;
  EXPECT_NE(digest(), digest());
}

TEST_F(TrialTest, OnlyTheEndOfALongStderrIsKeptAndAlwaysAsText) {
  const auto reply =
      run_trial(request("head -c 100000 /dev/zero >&2; printf '\\377the end' >&2"), {});
  EXPECT_THAT(reply.stderr_tail, HasSubstr("?the end"));
  EXPECT_THAT(reply.stderr_tail, Not(HasSubstr("\377")));
  EXPECT_LT(reply.stderr_tail.size(), protocol::kept_output + 100);
}

}  // namespace
}  // namespace stab::worker
