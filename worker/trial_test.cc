// SPDX-License-Identifier: MIT
// How a trial is started, and how it ends.
#include "worker/trial.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "base/fd.h"
#include "base/hash.h"
#include "base/time.h"
#include "worker/trial_testing.h"
#include "worker/wrappers.h"

namespace stab::worker {
namespace {

using namespace std::chrono_literals;
using store::TrialStatus;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST_F(TrialTest, AProgramThatItsOwnPathFindsGetsTheRandomHeap) {
  if (heap_library().empty()) GTEST_SKIP() << "libstabheap.so is not there";
  std::filesystem::create_directory(folder_ / "bin");
  std::filesystem::copy_file("/bin/true", folder_ / "bin/the-trials-own");
  protocol::RunRequest trial = request("");
  trial.argv = {"the-trials-own"};
  trial.options = {{"heap", "1"}};
  EXPECT_EQ(heap_library_for(trial), "");
  trial.env = {{"PATH", "/bin:" + (folder_ / "bin")}};
  EXPECT_EQ(heap_library_for(trial), heap_library());
  trial.options.clear();
  EXPECT_EQ(heap_library_for(trial), "");
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
