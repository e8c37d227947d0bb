// SPDX-License-Identifier: MIT
// Whether what a trial printed is right.
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/hash.h"
#include "worker/trial_testing.h"

namespace stab::worker {
namespace {

using namespace std::chrono_literals;
using store::TrialStatus;
using ::testing::HasSubstr;

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
  // Long enough for the program itself, on a busy machine, too.
  protocol::RunReply hung;
  for (trial.timeout = 300ms; hung.status != TrialStatus::check_failed && trial.timeout < 100s;
       trial.timeout *= 5)
    hung = run_trial(trial, {});
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

TEST_F(TrialTest, ACheckCommandDoesNotReport) {
  protocol::RunRequest trial = request("true");
  trial.check.command = "case $STABILIZER_OPTIONS in *report=*) exit 1;; esac";
  EXPECT_EQ(run_trial(trial, {}).status, TrialStatus::ok);
}

}  // namespace
}  // namespace stab::worker
