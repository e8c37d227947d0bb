// SPDX-License-Identifier: MIT
// Reports and exports of 100,000 trials while other things go on. Nothing here measures time: a
// reader is stopped, so that what is answered meanwhile did not wait for it.
#include <sys/mount.h>

#include <algorithm>
#include <fstream>

#include "tests/system/readers_testing.h"

namespace stab::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST_F(Readers, OthersAreAnsweredBeforeTheReportThatWasAskedForFirst) {
  ASSERT_TRUE(start());
  Talk first(lab_);
  Talk second(lab_);
  const pid_t reader = ask_and_stop(first);
  expect_version(second);
  EXPECT_EQ(lab_.ctl({"list"}).code, 0);
  EXPECT_FALSE(first.has_answer());
  kill(reader, SIGCONT);
  EXPECT_TRUE(is_report(first.answer()));
  expect_version(first);  // the conversation goes on
}

TEST_F(Readers, RequestsOfOneClientAreAnsweredInTheirOrder) {
  ASSERT_TRUE(start());
  Talk talk(lab_);
  const pid_t reader = ask_and_stop(talk);
  talk.say(protocol::encode(protocol::VersionRequest()));
  kill(reader, SIGCONT);
  EXPECT_TRUE(is_report(talk.answer()));
  EXPECT_THAT(talk.answer().value_or("").substr(0, 200), HasSubstr("\"version\""));
}

TEST_F(Readers, AnExperimentRunsToItsEndWhileAReportIsUnderWay) {
  lab_.write("plan.toml",
             "[experiment]\nname = \"true\"\n[defaults]\nrepetitions = 20\n[[benchmark]]\n"
             "name = \"b\"\nrun = [\"/bin/true\"]\n");
  ASSERT_TRUE(start());
  Talk talk(lab_);
  const pid_t reader = ask_and_stop(talk);
  const int id = lab_.submit("plan.toml");
  EXPECT_TRUE(lab_.wait_for(id, "done"));
  EXPECT_FALSE(talk.has_answer());
  kill(reader, SIGCONT);
  EXPECT_TRUE(is_report(talk.answer()));
}

TEST_F(Readers, AClientThatWaitsLongIsNotToldThatStabdDoesNotAnswer) {
  ASSERT_TRUE(start());
  stop_readers();
  const std::string said = lab_.path("said");
  const pid_t asking = start_program(
      {std::string(STAB_BIN_DIR) + "/stabctl", "--socket", lab_.path("s.sock"), "report", "1"},
      lab_.folder(), said);
  const pid_t reader = stopped_reader();
  ASSERT_NE(reader, 0);
  EXPECT_TRUE(wait_for_text(said, "stabctl waits for it\n"));
  kill(reader, SIGCONT);
  EXPECT_EQ(end_of(asking), 0);
  const std::string text = content_of(said);
  EXPECT_THAT(text.substr(0, 200),
              StartsWith("stabd has been silent for 5 s: it may be reading many trials, or waiting "
                         "for the end of a block; stabctl waits for it\n"));
  EXPECT_EQ(text.rfind("silent for 5 s"), text.find("silent for 5 s"));
}

TEST_F(Readers, OneThatIsKilledIsAnErrorAndTheNextOneAnswers) {
  ASSERT_TRUE(start());
  Talk talk(lab_);
  kill(ask_and_stop(talk), SIGKILL);
  EXPECT_THAT(talk.answer().value_or("").substr(0, 200),
              HasSubstr("the reader was killed by signal 9"));
  talk.say(report_of(1));
  EXPECT_TRUE(is_report(talk.answer()));
}

TEST_F(Readers, OneThatCannotBeStartedIsAnErrorWithTheReason) {
  ASSERT_TRUE(start());
  std::filesystem::rename(lab_.path("stabd"), lab_.path("away"));
  const Output report = lab_.ctl({"report", "1"});
  EXPECT_EQ(report.code, 1);
  EXPECT_THAT(report.err, HasSubstr("the reader ended with exit code 126: see the log of stabd"));
  EXPECT_THAT(content_of(lab_.path("stabd.log")),
              HasSubstr(lab_.path("stabd") + " --reader: cannot be executed: No such file"));
  std::filesystem::rename(lab_.path("away"), lab_.path("stabd"));
  EXPECT_EQ(lab_.ctl({"report", "1"}).code, 0);
}

TEST_F(Readers, OneThatTakesTooLongIsEndedWithTheReason) {
  // Long enough for the reader that verifies the database at start, on a busy machine, too.
  ASSERT_TRUE(start({"--read-limit", "10"}));
  Talk talk(lab_);
  stop_readers();
  talk.say(report_of(1));
  EXPECT_THAT(talk.answer().value_or("").substr(0, 200),
              HasSubstr("start stabd with a larger --read-limit"));
  EXPECT_TRUE(readers_of(lab_.daemon()).empty());
  expect_version(talk);
}

TEST_F(Readers, OneWhoseClientGoesEnds) {
  ASSERT_TRUE(start());
  Talk talk(lab_);
  const pid_t reader = ask_and_stop(talk);
  talk.hang_up();
  EXPECT_TRUE(eventually([&] { return !is_there(reader); }));
  Talk other(lab_);
  expect_version(other);
}

TEST_F(Readers, NoneOutlivesItsDaemon) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    ASSERT_TRUE(start());
    Talk talk(lab_);
    const pid_t reader = ask_and_stop(talk);
    lab_.end_daemon(signal);
    EXPECT_TRUE(eventually([&] { return !is_there(reader); })) << signal;
    EXPECT_FALSE(talk.answer());
  }
  // What they wrote had no name.
  for (const auto& entry : std::filesystem::directory_iterator(lab_.path("state")))
    EXPECT_THAT(entry.path().filename().string(), StartsWith("stabd.db"));
}

TEST_F(Readers, AUserHasOneAtATime) {
  ASSERT_TRUE(start());
  Talk first(lab_);
  Talk second(lab_);
  const pid_t reader = ask_and_stop(first);
  second.say(report_of(1));
  Talk third(lab_);
  expect_version(third);  // so the second request has been read
  EXPECT_EQ(readers_of(lab_.daemon()), std::vector{reader});
  kill(reader, SIGCONT);
  EXPECT_TRUE(is_report(first.answer()));
  EXPECT_TRUE(is_report(second.answer()));
}

TEST_F(Readers, AnExportIsSentAsItsClientTakesIt) {
  ASSERT_TRUE(start());
  Talk slow(lab_);
  slow.say(protocol::encode(protocol::ExportRequest{.id = 1, .format = "csv"}));
  ASSERT_TRUE(eventually([&] { return slow.has_answer(); }));
  Talk other(lab_);
  expect_version(other);
  const auto reply = protocol::decode_reply<protocol::ExportReply>(slow.answer().value_or(""));
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(std::ranges::count(reply->text, '\n'), many + 1);
  EXPECT_TRUE(reply->text == lab_.ctl({"export", "1"}).out);
  EXPECT_EQ(lab_.trials(1).size(), many);
}

TEST_F(Readers, OnASmallDiskAStoppedReportDoesNotKeepAnExperimentFromItsRoom) {
  if (unshare(CLONE_NEWNS) != 0) GTEST_SKIP() << "mounts of our own are not allowed here";
  ASSERT_EQ(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
  const std::string state = lab_.path("state");
  const std::size_t room =
      std::filesystem::file_size(state + "/stabd.db") + (std::size_t{14} << 20U);
  ASSERT_EQ(mount("tmpfs", state.c_str(), "tmpfs", 0, ("size=" + std::to_string(room)).c_str()), 0);
  std::filesystem::copy(kept_ + "/state", state);
  lab_.write("plan.toml",
             "[experiment]\nname = \"much\"\n[defaults]\nrepetitions = 1500\n[[benchmark]]\n"
             "name = \"b\"\nrun = [\"/bin/true\"]\n");
  ASSERT_TRUE(start());
  Talk talk(lab_);
  // A little at a time, until it reads. One that answers first is too late for this.
  const auto stops_within = [&](pid_t reader) {
    while (is_there(reader) && !reads_a_moment(reader)) {
      kill(reader, SIGCONT);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      kill(reader, SIGSTOP);
      eventually([&] { return is_stopped(reader) || !is_there(reader); });
    }
    return is_there(reader);
  };
  int tries = 0;
  while (!stops_within(ask_and_stop(talk)) && ++tries < 10) talk.answer();
  ASSERT_LT(tries, 10);
  ASSERT_FALSE(talk.has_answer());
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(eventually([&] { return talk.has_answer(); }));  // nobody lets it go on
  const auto answer = talk.answer();
  const auto refused = protocol::decode_reply<protocol::ReportReply>(answer.value_or(""));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("free some space and ask again"));
  EXPECT_TRUE(lab_.wait_for(id, "done"));
  EXPECT_EQ(lab_.trials(id).size(), 1500U);
  EXPECT_LE(std::filesystem::file_size(state + "/stabd.db-wal"), std::size_t{12} << 20U);
  lab_.end_daemon(SIGTERM);
  umount2(state.c_str(), MNT_DETACH);
}

TEST_F(Readers, WhatIsDamagedIsFoundAfterTheStartAndRefused) {
  std::string page = content_of(lab_.path("state/stabd.db"));
  const std::size_t reading = page.find("commit-before-ns\"", page.size() / 2);
  ASSERT_NE(reading, std::string::npos);
  page[reading] = 'x';
  std::ofstream(lab_.path("state/stabd.db"), std::ios::binary) << page;
  ASSERT_TRUE(start());
  EXPECT_TRUE(
      wait_for_text(lab_.path("stabd.log"), "of table trial has changed since it was written"));
  const Output report = lab_.ctl({"report", "1"});
  EXPECT_EQ(report.code, 1);
  EXPECT_THAT(report.err, HasSubstr("of table trial is damaged"));
}

}  // namespace
}  // namespace stab::test
