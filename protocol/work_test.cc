// SPDX-License-Identifier: MIT
// What daemon and worker say to each other arrives as it was.
#include "protocol/work.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "protocol/work_testing.h"

namespace stab::protocol {
namespace {

using nlohmann::json;
using store::BuildStatus;
using store::TrialStatus;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* bad_bytes = "a\xff\xc3(\xed\xa0\x80z";

TEST(Work, ARequestToSetUpGoesThereAndBack) {
  const SetupRequest full{.cpus = 7,
                          .wanted_cpus = {1, 2},
                          .counters = {{"a"}},
                          .rotated = {{"b", "c"}, {"d"}},
                          .profile = "p",
                          .profile_hz = 5};
  for (const SetupRequest& request : {full, SetupRequest()})
    expect_equal(decode<SetupRequest>(encode(request)).value(), request);
}

TEST(Work, AnAnswerToASetupGoesThereAndBack) {
  for (const SetupReply& reply : {full_setup_reply(), SetupReply()})
    expect_equal(decode<SetupReply>(encode(reply)).value(), reply);
}

TEST(Work, ARequestToBuildGoesThereAndBack) {
  for (const BuildRequest& request : {full_build(), BuildRequest()})
    expect_equal(decode<BuildRequest>(encode(request)).value(), request);
}

TEST(Work, AnAnswerToABuildGoesThereAndBack) {
  for (const BuildStatus status : {BuildStatus::built, BuildStatus::cached, BuildStatus::failed}) {
    BuildReply reply = full_build_reply();
    reply.status = status;
    expect_equal(decode<BuildReply>(encode(reply)).value(), reply);
  }
  expect_equal(decode<BuildReply>(encode(BuildReply())).value(), BuildReply());
}

TEST(Work, ARequestToRunGoesThereAndBack) {
  for (const RunRequest& request : {full_run(), RunRequest()})
    expect_equal(decode<RunRequest>(encode(request)).value(), request);
}

TEST(Work, ABuildThatTravelsGoesThereAndBack) {
  for (const FetchReply& reply : {full_fetch_reply(), FetchReply()})
    expect_equal(decode<FetchReply>(encode(reply)).value(), reply);
  for (const KeepRequest& request : {full_keep(), KeepRequest()})
    expect_equal(decode<KeepRequest>(encode(request)).value(), request);
  // The largest piece is a line that a worker accepts.
  FetchReply largest = full_fetch_reply();
  largest.bytes = std::string((most_of_piece + 2) / 3 * 4, 'A');
  EXPECT_TRUE(decode<FetchReply>(encode(largest)));
  EXPECT_LT(encode(largest).size(), max_work_line);
}

TEST(Work, EachOptionalPartOfACheckIsSetOrNotByItself) {
  for (const auto member :
       {&plan::Check::stdout_sha256, &plan::Check::stdout_file, &plan::Check::command}) {
    RunRequest request;
    request.check.exit = 255;
    request.check.*member = "";
    expect_equal(decode<RunRequest>(encode(request)).value(), request);
  }
}

TEST(Work, AnAnswerToARunGoesThereAndBack) {
  for (const RunReply& reply : {full_run_reply(), RunReply()})
    EXPECT_EQ(decode<RunReply>(encode(reply)).value(), reply);
}

TEST(Work, EachOptionalNumberOfARunIsSetOrNotByItself) {
  for (const auto member :
       {&RunReply::wall_ns, &RunReply::user_ns, &RunReply::system_ns, &RunReply::max_rss_bytes}) {
    RunReply reply;
    reply.*member = 0;
    EXPECT_EQ(decode<RunReply>(encode(reply)).value(), reply);
  }
  for (const auto member : {&RunReply::exit_code, &RunReply::signal}) {
    RunReply reply;
    reply.*member = 0;
    EXPECT_EQ(decode<RunReply>(encode(reply)).value(), reply);
  }
}

TEST(Work, EveryStatusOfATrialGoesThereAndBack) {
  for (int i = 0; i <= static_cast<int>(TrialStatus::skipped); ++i) {
    RunReply reply;
    reply.status = static_cast<TrialStatus>(i);
    EXPECT_EQ(decode<RunReply>(encode(reply)).value().status, reply.status);
  }
}

TEST(Work, AMessageIsOneLineAndSaysItsKind) {
  for (const Message& message : messages()) {
    EXPECT_THAT(message.line, Not(HasSubstr("\n")));
    EXPECT_EQ(json::parse(message.line)["kind"], message.kind);
    EXPECT_TRUE(message.reads(message.line));
  }
}

TEST(Work, BytesThatAreNotTextAreReplacedAndTheRestArrives) {
  RunReply reply;
  reply.stderr_tail = bad_bytes;
  reply.reason = bad_bytes;
  const auto run = decode<RunReply>(encode(reply));
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_THAT(run->stderr_tail, testing::StartsWith("a\xef\xbf\xbd"));
  EXPECT_THAT(run->reason, testing::EndsWith("z"));

  BuildReply build = full_build_reply();
  build.output = bad_bytes;
  EXPECT_EQ(decode<BuildReply>(encode(build)).value().key, "k1");
  SetupReply setup;
  setup.notes = {bad_bytes};
  EXPECT_EQ(decode<SetupReply>(encode(setup)).value().notes.size(), 1U);
  RunRequest request = full_run();
  request.env["C"] = bad_bytes;
  EXPECT_EQ(decode<RunRequest>(encode(request)).value().argv, request.argv);
  BuildRequest wanted = full_build();
  wanted.command = bad_bytes;
  EXPECT_EQ(decode<BuildRequest>(encode(wanted)).value().cache, wanted.cache);
}

TEST(Work, TheLargestOutputsFitIntoALine) {
  RunReply reply;
  reply.stderr_tail = std::string(kept_output, '\x01');
  EXPECT_LT(encode(reply).size(), max_work_line);
}

}  // namespace
}  // namespace stab::protocol
