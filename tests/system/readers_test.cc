// SPDX-License-Identifier: MIT
// Reports and exports of 100,000 trials while other things go on. Nothing here measures time: a
// reader is stopped, so that what is answered meanwhile did not wait for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "base/fd.h"
#include "stabd/protocol/lines.h"
#include "stabd/protocol/messages.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t many = 100'000;

// "" of what is not there any more.
std::string text_of(const std::string& path) {
  return read_file(path, std::size_t{1} << 30U).value_or("");
}

template <class Condition>
bool eventually(Condition condition) {
  const auto end = steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Of a daemon, by what their command lines say.
std::vector<pid_t> readers_of(pid_t daemon) {
  std::vector<pid_t> found;
  const std::string task = "/proc/" + std::to_string(daemon) + "/task/" + std::to_string(daemon);
  std::istringstream children(text_of(task + "/children"));
  for (pid_t child = 0; children >> child;)
    if (text_of("/proc/" + std::to_string(child) + "/cmdline").contains("--reader"))
      found.push_back(child);
  return found;
}

bool is_there(pid_t process) {
  const std::string stat = text_of("/proc/" + std::to_string(process) + "/stat");
  return !stat.empty() && !stat.contains(") Z ");
}

bool has_open(pid_t process, const std::string& name) {
  std::error_code error;
  for (const auto& each :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", error))
    if (std::filesystem::read_symlink(each.path(), error).filename() == name) return true;
  return false;
}

// A conversation that has been greeted.
class Talk {
 public:
  explicit Talk(const Lab& lab) : socket_(lab.connect()), channel_(socket_.get(), 1U << 30U) {
    say(protocol::encode(
        protocol::HelloRequest{.protocol = protocol::version, .version = STAB_VERSION}));
    EXPECT_TRUE(answer());
  }
  void say(const std::string& line) { EXPECT_TRUE(channel_.send(line)); }
  std::optional<std::string> answer() { return channel_.receive().value_or(std::nullopt); }
  [[nodiscard]] bool has_answer() const {
    pollfd waiting{socket_.get(), POLLIN, 0};
    return poll(&waiting, 1, 0) == 1;
  }
  void hang_up() { socket_.reset(); }

 private:
  Fd socket_;
  protocol::Channel channel_;
};

std::string report_of(int id) {
  return protocol::encode(protocol::ReportRequest{.id = id, .format = "json"});
}

class Readers : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string folder = "/tmp/stabd-many-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    kept_ = folder;
    const Output made = run_program({std::string(STAB_BIN_DIR) + "/../bench/make_trials",
                                     kept_ + "/state", std::to_string(many)},
                                    "/");
    ASSERT_EQ(made.out, "1\n") << made.err;
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(kept_); }

  Readers() { std::filesystem::copy(kept_ + "/state", lab_.path("state")); }

  // Waits until the reader that verifies the trials after the start has ended, well or not.
  bool start(std::vector<std::string> extra = {}) {
    unlink(lab_.path("stabd.log").c_str());
    extra.insert(extra.end(), {"--log", "debug"});
    return lab_.start_daemon(extra) && wait_for_text(lab_.path("stabd.log"), "verified");
  }
  // Asks for a report and stops its reader before it can answer.
  pid_t ask_and_stop(Talk& talk) {
    talk.say(report_of(1));
    EXPECT_TRUE(eventually([&] { return !readers_of(lab_.daemon()).empty(); }));
    const auto readers = readers_of(lab_.daemon());
    if (readers.empty()) return 0;
    kill(readers.front(), SIGSTOP);
    EXPECT_FALSE(talk.has_answer());
    return readers.front();
  }
  void expect_version(Talk& talk) {
    talk.say(protocol::encode(protocol::VersionRequest()));
    EXPECT_THAT(talk.answer().value_or("").substr(0, 200), HasSubstr("\"version\""));
  }
  static bool is_report(const std::optional<std::string>& line) {
    const auto reply = protocol::decode_reply<protocol::ReportReply>(line.value_or(""));
    return reply && json::parse(reply->text)["trials"]["ok"] == many;
  }

  static std::string kept_;
  Lab lab_;
};
std::string Readers::kept_;

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

// Everything that this process starts runs on one CPU from here on.
class OneCpu {
 public:
  OneCpu() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &before_)) ++cpu;
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  OneCpu(const OneCpu&) = delete;
  OneCpu& operator=(const OneCpu&) = delete;
  ~OneCpu() { sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

TEST_F(Readers, WithOneCpuAReportWaitsForTheNextBlockAndTheBlockForTheReport) {
  const OneCpu one;
  lab_.write("plan.toml",
             "[experiment]\nname = \"slow\"\n[defaults]\nrepetitions = 60\n[[benchmark]]\n"
             "name = \"b\"\nrun = [\"sleep\", \"1\"]\n");
  ASSERT_TRUE(start());
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  Talk talk(lab_);
  talk.say(report_of(1));
  EXPECT_TRUE(is_report(talk.answer()));
  EXPECT_EQ(lab_.state(id), "running");
  EXPECT_GE(lab_.trials(id).size(), 1U);  // it came after the trial that ran
  EXPECT_EQ(lab_.ctl({"cancel", std::to_string(id)}).code, 0);
}

TEST_F(Readers, AReaderGivesWayToEverythingElse) {
  ASSERT_TRUE(start());
  Talk talk(lab_);
  const pid_t reader = ask_and_stop(talk);
  // It may have been stopped before it has done so, which is the first that it does.
  EXPECT_TRUE(eventually([reader] {
    const std::string stat = text_of("/proc/" + std::to_string(reader) + "/stat");
    std::istringstream fields(stat.substr(stat.rfind(')') + 2));
    const std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
    if (words.at(16) == "19" && words.at(38) == std::to_string(SCHED_IDLE)) return true;
    kill(reader, SIGCONT);
    usleep(1000);
    kill(reader, SIGSTOP);
    return false;
  })) << "nice and policy";
  // Where the kernel groups processes by session, the policy holds against the daemon in its session only. No signal of
  // its terminal may end a reader.
  EXPECT_EQ(getsid(reader), getsid(lab_.daemon()));
  EXPECT_EQ(getpgid(reader), reader);
  kill(reader, SIGCONT);
  EXPECT_TRUE(is_report(talk.answer()));
}

TEST_F(Readers, AClientThatWaitsLongIsNotToldThatStabdDoesNotAnswer) {
  ASSERT_TRUE(start());
  Output report;
  std::thread asking([&] { report = lab_.ctl({"report", "1"}); });
  EXPECT_TRUE(eventually([&] { return !readers_of(lab_.daemon()).empty(); }));
  for (const pid_t reader : readers_of(lab_.daemon())) kill(reader, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(6));
  for (const pid_t reader : readers_of(lab_.daemon())) kill(reader, SIGCONT);
  asking.join();
  EXPECT_EQ(report.code, 0);
  EXPECT_EQ(report.err,
            "no word from stabd for 5 s: it may be reading many trials; this waits for it\n");
}

TEST_F(Readers, OneThatIsKilledIsAnErrorAndTheNextOneAnswers) {
  ASSERT_TRUE(start());
  Talk talk(lab_);
  kill(ask_and_stop(talk), SIGKILL);
  EXPECT_THAT(talk.answer().value_or("").substr(0, 200),
              HasSubstr("the reader was ended by signal 9"));
  talk.say(report_of(1));
  EXPECT_TRUE(is_report(talk.answer()));
}

TEST_F(Readers, OneThatCannotBeStartedIsAnErrorWithTheReason) {
  lab_.copy_stabd();
  ASSERT_TRUE(start());
  std::filesystem::rename(lab_.path("stabd"), lab_.path("away"));
  const Output report = lab_.ctl({"report", "1"});
  EXPECT_EQ(report.code, 1);
  EXPECT_THAT(report.err, HasSubstr("the reader ended with exit code 126: see the log of stabd"));
  EXPECT_THAT(text_of(lab_.path("stabd.log")),
              HasSubstr(lab_.path("stabd") + " --reader: cannot be executed: No such file"));
  std::filesystem::rename(lab_.path("away"), lab_.path("stabd"));
  EXPECT_EQ(lab_.ctl({"report", "1"}).code, 0);
}

TEST_F(Readers, OneThatTakesTooLongIsEndedWithTheReason) {
  ASSERT_TRUE(start({"--read-limit", "1"}));
  Talk talk(lab_);
  ask_and_stop(talk);
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
  const pid_t reader = ask_and_stop(talk);
  ASSERT_NE(reader, 0);
  // A little at a time, until it reads: it has the log open, and its moment is that of the first row.
  while (!has_open(reader, "stabd.db-wal")) {
    kill(reader, SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kill(reader, SIGSTOP);
  }
  kill(reader, SIGCONT);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(reader, SIGSTOP);
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
  std::string page = text_of(lab_.path("state/stabd.db"));
  const std::size_t reading = page.find("commit-before-ns\"", page.size() / 2);
  ASSERT_NE(reading, std::string::npos);
  page[reading] = 'x';
  std::ofstream(lab_.path("state/stabd.db"), std::ios::binary) << page;
  ASSERT_TRUE(start());
  EXPECT_TRUE(wait_for_text(lab_.path("stabd.log"), "of trial has changed since it was written"));
  const Output report = lab_.ctl({"report", "1"});
  EXPECT_EQ(report.code, 1);
  EXPECT_THAT(report.err, HasSubstr("of table trial is damaged"));
}

}  // namespace
}  // namespace stab::test
