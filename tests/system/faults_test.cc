// SPDX-License-Identifier: MIT
// Bad plans and bad programs: each gets a message that says what to change, and the daemon serves
// on.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/fd.h"
#include "protocol/lines.h"
#include "protocol/messages.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class Faults : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(lab_.start_daemon()); }
  void TearDown() override {
    EXPECT_EQ(lab_.ctl({"list"}).code, 0) << "the daemon must still serve";
  }

  // A plan of one benchmark beside one that works.
  std::string with_healthy(const std::string& benchmark, const std::string& defaults = "") {
    lab_.write("plan.toml",
               "[experiment]\nname = \"faults\"\n[defaults]\nrepetitions = 2\ntimeout = \"60s\"\n" +
                   defaults + "[[benchmark]]\nname = \"healthy\"\nrun = [\"true\"]\n" + benchmark);
    return "plan.toml";
  }

  // Runs it and returns the rows of the bad benchmark; the healthy one must have been measured.
  json run_beside_healthy(const std::string& benchmark, const std::string& defaults = "") {
    const int id = lab_.submit(with_healthy(benchmark, defaults));
    EXPECT_NE(id, 0);
    EXPECT_TRUE(lab_.wait_until_final(id));
    EXPECT_EQ(lab_.state(id), "done");
    report_ = lab_.ctl({"report", std::to_string(id)}).out;
    json bad = json::array();
    int healthy = 0;
    for (const json& row : lab_.trials(id)) {
      if (row["benchmark"] == "healthy")
        healthy += row["status"] == "ok" ? 1 : 0;
      else
        bad.push_back(row);
    }
    EXPECT_EQ(healthy, 2);
    return bad;
  }

  Output submit_text(const std::string& text) {
    lab_.write("plan.toml", text);
    return lab_.ctl({"submit", lab_.path("plan.toml")});
  }

  Lab lab_;
  std::string report_;
};

TEST_F(Faults, APlanThatDoesNotExistIsNamed) {
  const Output output = lab_.ctl({"submit", "nothing.toml"});
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(
      output.err,
      HasSubstr("there is no file nothing.toml: name the TOML file of a plan ('stabctl keys' "));
}

TEST_F(Faults, AFolderIsNoPlan) {
  EXPECT_THAT(lab_.ctl({"submit", "/tmp"}).err, HasSubstr("folder"));
}

TEST_F(Faults, AnEmptyPlanIsRefused) {
  const Output output = submit_text("");
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.err, HasSubstr("empty"));
}

TEST_F(Faults, ABinaryFileIsRefused) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>(i * 37);
  EXPECT_EQ(submit_text(bytes).code, 1);
}

TEST_F(Faults, AHugeFileIsRefusedAtOnce) {
  lab_.write("plan.toml", "");
  ASSERT_EQ(truncate(lab_.path("plan.toml").c_str(), 100'000'000), 0);
  const Output output = lab_.ctl({"submit", lab_.path("plan.toml")});
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.err, HasSubstr("larger than the limit"));
}

TEST_F(Faults, ABillionCellsAreRefusedWithTheirNumber) {
  std::string text = "[experiment]\nname = \"big\"\n[[benchmark]]\nname = \"b\"\nrun = [\"true\"";
  for (int factor = 0; factor < 9; ++factor) text += ", \"${V" + std::to_string(factor) + "}\"";
  text += "]\n";
  for (int factor = 0; factor < 9; ++factor) {
    text += "[factor.f" + std::to_string(factor) + "]\nlevels = { ";
    for (int level = 0; level < 10; ++level)
      text += (level > 0 ? ", l" : "l") + std::to_string(level) + " = { V" +
              std::to_string(factor) + " = \"" + std::to_string(level) + "\" }";
    text += " }\n";
  }
  const Output output = submit_text(text);
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.err, HasSubstr("cells"));
  EXPECT_THAT(output.err, HasSubstr("1000000000"));
}

TEST_F(Faults, AllMistakesOfAPlanAreShownWithTheirPlaces) {
  const Output output = submit_text(
      "[experiment]\nname = \"x\"\nsed = 1\n[[benchmark]]\nname = \"b\"\nrun = "
      "[\"true\"]\nrepetition = 3\n");
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.err, HasSubstr("plan.toml:3:1"));
  EXPECT_THAT(output.err, HasSubstr("seed"));
  EXPECT_THAT(output.err, HasSubstr("plan.toml:7:1"));
  EXPECT_THAT(output.err, HasSubstr("repetitions"));
}

TEST_F(Faults, AMissingProgramIsTheTrialsFault) {
  const json rows = run_beside_healthy("[[benchmark]]\nname = \"bad\"\nrun = [\"./not-there\"]\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["status"], "not_started");
  EXPECT_THAT(rows[0]["reason"].get<std::string>(),
              HasSubstr("cannot find the program ./not-there"));
  EXPECT_THAT(report_, HasSubstr("cannot find the program"));
}

TEST_F(Faults, ACrashIsRecordedWithItsSignalAndStderr) {
  lab_.write("crash.sh", "#!/bin/sh\necho 'last words' >&2\nkill -SEGV $$\n", true);
  const json rows = run_beside_healthy("[[benchmark]]\nname = \"bad\"\nrun = [\"./crash.sh\"]\n");
  EXPECT_EQ(rows[0]["status"], "signalled");
  EXPECT_EQ(rows[0]["signal"], 11);
}

TEST_F(Faults, AHangEndsAtItsTimeout) {
  const json rows = run_beside_healthy(
      "[[benchmark]]\nname = \"bad\"\nrun = [\"sleep\", \"1000\"]\ntimeout = \"200ms\"\n");
  EXPECT_EQ(rows[0]["status"], "timeout");
}

TEST_F(Faults, ChildrenThatOutliveTheProgramAreEndedAndCounted) {
  lab_.write("parent.sh", "#!/bin/sh\nsetsid sleep 1000 &\n(sleep 1000 &)\n", true);
  const json rows = run_beside_healthy("[[benchmark]]\nname = \"bad\"\nrun = [\"./parent.sh\"]\n");
  EXPECT_EQ(rows[0]["status"], "ok");
  EXPECT_GE(rows[0]["leftover-processes"].get<int>(), 1);
}

TEST_F(Faults, EndlessOutputIsCut) {
  const json rows = run_beside_healthy(
      "[[benchmark]]\nname = \"bad\"\nrun = [\"yes\"]\noutput_limit = \"1MiB\"\n");
  EXPECT_EQ(rows[0]["status"], "output_limit");
}

TEST_F(Faults, AWrongOutputIsNotMeasured) {
  const json rows = run_beside_healthy(
      "[[benchmark]]\nname = \"bad\"\nrun = [\"echo\", \"wrong\"]\ncheck = { command = \"grep -q "
      "right\" }\n");
  EXPECT_EQ(rows[0]["status"], "check_failed");
}

TEST_F(Faults, AWrongExitCodeIsNamed) {
  const json rows = run_beside_healthy("[[benchmark]]\nname = \"bad\"\nrun = [\"false\"]\n");
  EXPECT_EQ(rows[0]["status"], "wrong_exit");
  EXPECT_THAT(rows[0]["reason"].get<std::string>(), HasSubstr("exit code 1, not 0"));
}

TEST_F(Faults, AFailedTrialIsRepeatedAsThePlanSays) {
  const json rows =
      run_beside_healthy("[[benchmark]]\nname = \"bad\"\nrun = [\"false\"]\n", "retries = 2\n");
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[2]["attempt"], 2);
  EXPECT_EQ(rows[2]["last"], true);
  EXPECT_EQ(rows[1]["last"], false);
}

TEST_F(Faults, AFailingBuildFailsItsBenchmarkAndShowsItsOutput) {
  const json rows = run_beside_healthy(
      "[[benchmark]]\nname = \"bad\"\nbuild = \"echo no such header >&2; false ${OUT}\"\nrun = "
      "[\"${OUT}\"]\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["status"], "build_failed");
  EXPECT_EQ(rows[0]["reason"], "the build failed: no such header");
  EXPECT_THAT(report_, HasSubstr("no such header"));
  EXPECT_THAT(lab_.ctl({"logs", "1"}).out,
              HasSubstr("the build command ended with exit code 1\n    the command was: "));
}

TEST_F(Faults, AFailingBuildFailsTheExperimentIfThePlanSaysSo) {
  const int id = lab_.submit(
      with_healthy("[[benchmark]]\nname = \"bad\"\nbuild = \"false ${OUT}\"\nrun = [\"${OUT}\"]\n",
                   "on_build_failure = \"fail-experiment\"\n"));
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "failed");
  EXPECT_EQ(lab_.trials(id).size(), 0U);
}

TEST_F(Faults, ABuildFactorThatChangesNothingIsRefused) {
  lab_.write("plan.toml",
             "[experiment]\nname = \"same\"\n[[benchmark]]\nname = \"b\"\nbuild = \"echo ${X} "
             ">/dev/null; cp /bin/true ${OUT}\"\n"
             "run = [\"${OUT}\"]\nsources = [\"plan.toml\"]\n[factor.x]\nlevels = { a = { X = "
             "\"1\" }, b = { X = \"2\" } }\n");
  const int id = lab_.submit("plan.toml");
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "failed");
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out, HasSubstr("identical"));
}

TEST_F(Faults, MoreCpusThanThereAreIsRefusedWithTheNumber) {
  const int id = lab_.submit(with_healthy("[machine]\ncpus = 1000\n"));
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "failed");
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out, HasSubstr("1000"));
}

TEST_F(Faults, AnUnknownExperimentIsNamed) {
  const Output output = lab_.ctl({"report", "999"});
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.err, HasSubstr("there is no experiment 999"));
}

TEST_F(Faults, NonsenseOnTheSocketIsAnsweredLineByLine) {
  const std::string hello = protocol::encode(protocol::HelloRequest{.protocol = protocol::version});
  const Fd socket = lab_.connect();
  protocol::Channel channel(socket.get(), 1 << 20);
  for (const char* line :
       {"hello", "{}", R"({"verb":7})", R"({"verb":"hello","protocol":1e300})", hello.c_str(),
        R"({"verb":"report","id":"x"})", R"({"verb":"report","id":1.9})",
        R"({"verb":"report","id":-1})", R"({"verb":"dance"})", "[]",
        R"({"verb":"submit","plan":1,"directory":"/"})", "\xff\xfe\x01"}) {
    ASSERT_TRUE(channel.send(line));
    const auto answer = channel.receive();
    ASSERT_TRUE(answer && *answer) << line;
    const json reply = json::parse(**answer);
    if (reply.contains("protocol")) continue;  // the greeting is no nonsense
    EXPECT_EQ(reply["ok"], false) << line;
    EXPECT_NE(reply["error"], "") << line;
  }
  std::string endless(std::size_t{9} << 20, 'x');
  static_cast<void>(channel.send(endless));
}

TEST_F(Faults, AClientOfAnotherVersionIsToldWhatToDo) {
  const Fd socket = lab_.connect();
  protocol::Channel channel(socket.get(), 1 << 20);
  const auto ask = [&](const std::string& line) {
    EXPECT_TRUE(channel.send(line));
    return json::parse(channel.receive().value().value_or("null"));
  };
  EXPECT_THAT(ask(R"({"verb":"list"})")["error"].get<std::string>(),
              HasSubstr("use the stabctl of the same release"));
  const json refused = ask(R"({"verb":"hello","protocol":77,"version":"9.9"})");
  EXPECT_EQ(refused["ok"], false);
  EXPECT_THAT(refused["error"].get<std::string>(), HasSubstr("stabctl 9.9 speaks 77"));
  EXPECT_EQ(ask(protocol::encode(protocol::HelloRequest{.protocol = protocol::version}))["ok"],
            true);
  EXPECT_EQ(ask(R"({"verb":"list"})")["ok"], true);
  EXPECT_THAT(ask(protocol::encode(protocol::CompareRequest{}))["error"].get<std::string>(),
              HasSubstr("'stabctl compare 1 2'"));
}

std::size_t peak_memory_kb(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  std::string word;
  std::size_t number = 0;
  while (status >> word)
    if (word == "VmHWM:" && status >> number) return number;
  return 0;
}

TEST_F(Faults, NoMessageMakesTheDaemonHoldMuchMoreThanItsBytes) {
  // A sanitizer keeps freed memory for a while.
#ifdef STAB_SANITIZED
  constexpr std::size_t allowed = 256U << 10U;
#else
  constexpr std::size_t allowed = 64U << 10U;
#endif
  constexpr std::size_t bytes = std::size_t{8} << 20;
  std::string pairs = "[";
  while (pairs.size() < bytes - 4) pairs += "[],";
  const std::size_t before = peak_memory_kb(lab_.daemon());
  for (const std::string& line : {std::string(bytes - 1, '['), pairs + "0]"}) {
    const Fd socket = lab_.connect();
    protocol::Channel channel(socket.get(), 1 << 20);
    ASSERT_TRUE(channel.send(line));
    const auto answer = channel.receive();
    ASSERT_TRUE(answer && *answer);
    EXPECT_EQ(json::parse(**answer)["ok"], false);
  }
  const std::size_t after = peak_memory_kb(lab_.daemon());
  ASSERT_GT(before, 0U);
  EXPECT_LT(after - before, allowed);
}

TEST_F(Faults, ManyKeysAreReadInNoTime) {
  const auto time_of = [this](int keys) {
    std::string line = "{";
    for (int i = 0; i < keys; ++i) line += fmt::format("\"{:06}\":0,", i);
    line += "\"verb\":\"list\"}";
    const Fd socket = lab_.connect();
    protocol::Channel channel(socket.get(), 1 << 20);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(channel.send(line));
    EXPECT_TRUE(channel.receive().value_or(std::nullopt));
    return std::chrono::steady_clock::now() - begin;
  };
  // An object whose look-ups go through all keys takes a hundred times as long for ten times as
  // many. A try beside which the machine stood still is no proof of that.
  int slow = 0;
  while (slow < 5 && time_of(262'000) > 40 * time_of(26'200) + std::chrono::seconds(1)) ++slow;
  EXPECT_LT(slow, 5);
}

TEST_F(Faults, ADaemonThatCouldNotListenReadsTheAnswerThatWaits) {
  lab_.write("stop.toml",
             "[experiment]\nname = \"stop\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sleep\", "
             "\"0.05\"]\nrepetitions = 200\ntimeout = \"1s\"\n");
  const int id = lab_.submit("stop.toml");
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  // Longer than a worker has for an answer: twice the timeout and 45 s.
  kill(lab_.daemon(), SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(50));
  kill(lab_.daemon(), SIGCONT);
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "done");
}

}  // namespace
}  // namespace stab::test
