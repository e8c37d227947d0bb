// SPDX-License-Identifier: MIT
// What somebody meets who runs a plan, changes something, and runs it again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/streams.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* plan = R"([experiment]
name = "again"
[defaults]
repetitions = 2
give_up_after = 0
[[benchmark]]
name = "b"
build = "./build.sh ${OUT} ${LEVEL}"
run = ["${OUT}"]
prepare = "echo ready > ${SRC}/given"
cleanup = "rm ${SRC}/given"
[factor.level]
levels = { a = { LEVEL = "a" }, b = { LEVEL = "b" } }
)";

class Again : public ::testing::Test {
 protected:
  Again() {
    lab_.write("work/build.sh",
               "#!/bin/sh\nprintf '#!/bin/sh\\n# %s\\ncat given\\n' \"$2\" > $1\nchmod +x $1\n",
               true);
    lab_.write("work/plan.toml", plan);
  }
  // With a state folder of that name beside the plan.
  Output run(const std::string& state) const {
    return lab_.ctl({"run", "--full", "--fail-on", "trials", "--state", lab_.path("work/" + state),
                     lab_.path("work/plan.toml")});
  }
  // "cached cached", as the store has them.
  std::string builds(const std::string& state) const {
    return run_program({"/usr/bin/sqlite3", lab_.path("work/" + state + "/stabd.db"),
                        "select group_concat(status, ' ') from build"},
                       "/")
        .out;
  }

  Lab lab_;
};

TEST_F(Again, PlansReportsAndFoldersOfRunsAreNoSources) {
  const Output first = run("first");
  ASSERT_EQ(first.code, 0) << first.out << first.err;
  EXPECT_EQ(builds("first"), "built built\n");
  const Output report = lab_.ctl({"report", "--state", lab_.path("work/first"), "--format", "json",
                                  "-o", lab_.path("work/report.json")});
  ASSERT_EQ(report.code, 0) << report.err;
  const Output page = lab_.ctl({"run", "--state", lab_.path("work/first"), "--html",
                                lab_.path("work/page.html"), lab_.path("work/plan.toml")});
  ASSERT_EQ(page.code, 0) << page.err;
  // Where files have no such attributes these are sources like others.
  for (const char* name : {"work/report.json", "work/page.html"})
    if (!is_marked_as_output(lab_.path(name))) std::filesystem::remove(lab_.path(name));
  lab_.write("work/plan.toml", std::string("# What it is about.\n") + plan);
  const Output second = run("second");
  ASSERT_EQ(second.code, 0) << second.out << second.err;
  EXPECT_EQ(builds("second"), "cached cached\n");
  EXPECT_THAT(lab_.ctl({"logs", "--state", lab_.path("work/first")}).out,
              HasSubstr("not in the copy that is built: "));
  lab_.write("work/notes", "read by the build, for all that anybody knows\n");
  ASSERT_EQ(run("third").code, 0);
  EXPECT_EQ(builds("third"), "built built\n");
}

// Nor is what the shell puts a report into; a file that it appends to may be anybody's.
TEST_F(Again, WhatStdoutAndStderrAreSentToIsNoSource) {
  const auto run_into = [this](const std::string& state, const std::string& where) {
    return run_program(
        {"/bin/sh", "-c",
         "cd work && exec " STAB_BIN_DIR "/stabctl run --state " + state + " plan.toml " + where},
        lab_.folder());
  };
  const Output first = run_into("first", "> result.txt 2> said.txt");
  ASSERT_EQ(first.code, 0) << read_file(lab_.path("work/said.txt"), 1 << 20).value_or("");
  EXPECT_THAT(read_file(lab_.path("work/result.txt"), 1 << 20).value_or(""), HasSubstr("again"));
  if (!is_marked_as_output(lab_.path("work/result.txt")))
    GTEST_SKIP() << "this file system has no attributes of users";
  ASSERT_EQ(run_into("second", "> other.txt").code, 0);
  EXPECT_EQ(builds("second"), "cached cached\n");
  lab_.write("work/kept", "of the build\n");
  ASSERT_EQ(run_into("third", ">> kept").code, 0);
  EXPECT_EQ(builds("third"), "built built\n");
}

TEST_F(Again, AFailureSaysWhatThePlansCommandOrProgramSaid) {
  lab_.write("work/build.sh",
             "#!/bin/sh\nprintf '#!/bin/sh\\n# %s\\necho one >&2; echo no input >&2; exit 3\\n' "
             "\"$2\" > $1\nchmod +x $1\n",
             true);
  const Output failed = run("failed");
  EXPECT_EQ(failed.code, 5);
  EXPECT_THAT(failed.out, AllOf(HasSubstr("ended with exit code 3, not 0 (2 trials); stderr ends"),
                                HasSubstr("no input"), HasSubstr("stabctl logs 1")));
  EXPECT_THAT(lab_.ctl({"logs", "--state", lab_.path("work/failed")}).out, HasSubstr("one\n"));
  EXPECT_THAT(lab_.ctl({"report", "--json", "--state", lab_.path("work/failed")}).out,
              ::testing::ContainsRegex("\"stderr_lines\": \\[\n *\"one\",\n *\"no input\"\n"));

  lab_.write("work/build.sh", "#!/bin/sh\necho hm >&2\necho 'b.c:1: error: no' >&2\nexit 4\n",
             true);
  const Output unbuilt = run("unbuilt");
  EXPECT_EQ(unbuilt.code, 5);
  EXPECT_THAT(unbuilt.out,
              AllOf(HasSubstr("the build failed: b.c:1: error: no"), Not(HasSubstr("hm"))));
}

TEST_F(Again, ATrialThatIsCancelledIsCleanedUp) {
  std::string text = plan;
  text.replace(text.find("[\"${OUT}\"]"), 10,
               "[\"/bin/sh\", \"-c\", \"echo it runs > " + lab_.path("runs") +
                   "; exec sleep 1000\", \"${OUT}\"]");
  lab_.write("work/plan.toml", text);
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_EQ(lab_.submit("work/plan.toml"), 1);
  // A cancelled preparation is no trial.
  ASSERT_TRUE(wait_for_text(lab_.path("runs"), "it runs"));
  ASSERT_TRUE(std::filesystem::exists(lab_.path("work/given")));
  EXPECT_EQ(lab_.ctl({"cancel", "1"}).code, 0);
  EXPECT_EQ(lab_.state(1), "cancelled");
  EXPECT_FALSE(std::filesystem::exists(lab_.path("work/given")));
}

TEST_F(Again, ATrialThatIsCancelledWhileItIsPreparedIsCleanedUp) {
  std::string text = plan;
  text.replace(text.find("echo ready > ${SRC}/given"), 25, "echo ready > ${SRC}/given; sleep 1000");
  lab_.write("work/plan.toml", text);
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_EQ(lab_.submit("work/plan.toml"), 1);
  ASSERT_TRUE(wait_for_text(lab_.path("work/given"), "ready"));
  EXPECT_EQ(lab_.ctl({"cancel", "1"}).code, 0);
  EXPECT_EQ(lab_.state(1), "cancelled");
  EXPECT_FALSE(std::filesystem::exists(lab_.path("work/given")));
}

TEST_F(Again, WhatCannotBePreparedIsNotRun) {
  std::string text = plan;
  text.replace(text.find("echo ready > ${SRC}/given"), 25, "echo no room >&2; exit 1");
  lab_.write("work/plan.toml", text);
  const Output failed = run("failed");
  EXPECT_EQ(failed.code, 5);
  EXPECT_THAT(failed.out, HasSubstr("the prepare command ended with exit code 1: no room"));
}

// A plan with four builds. "log" gets a line for each build that begins or ends, and one for each trial. A build waits
// until `meeting` of them have begun.
class Builds : public ::testing::Test {
 protected:
  void write(int meeting, const std::string& response) const {
    lab_.write("work/build.sh",
               "#!/bin/sh\nlog=" + lab_.path("log") +
                   "\necho begin >>$log\nfor i in $(seq 600); do\n"
                   "  [ $(grep -c begin $log) -lt " +
                   std::to_string(meeting) +
                   " ] || break\n  sleep 0.1\ndone\n"
                   "printf '#!/bin/sh\\n# %s\\necho trial >>%s\\n' \"$2\" $log >$1\n"
                   "chmod +x $1\necho end >>$log\n",
               true);
    lab_.write("work/plan.toml", R"([experiment]
name = "builds"
[defaults]
repetitions = 2
[[benchmark]]
name = "b"
build = "./build.sh ${OUT} ${LEVEL}"
run = ["${OUT}"]
[factor.level]
levels = { a = { LEVEL = "a" }, b = { LEVEL = "b" }, c = { LEVEL = "c" }, d = { LEVEL = "d" } }
[analysis]
response = )" + response + "\n");
  }
  // How many builds ran at the same time at most; -1: one ran beside a trial or after it.
  [[nodiscard]] int at_once() const {
    std::istringstream log(read_file(lab_.path("log"), 1 << 20).value_or(""));
    int running = 0;
    int most = 0;
    bool measured = false;
    for (std::string line; std::getline(log, line);) {
      if (line == "begin") most = std::max(most, ++running);
      if (line == "end") --running;
      measured = measured || line == "trial";
      if (measured && (running > 0 || line == "begin")) return -1;
    }
    return measured ? most : 0;
  }
  // Two builds run at the same time only where two have room.
  static std::string why_not_two() {
    if (std::thread::hardware_concurrency() < 2) return "there is one CPU";
    const std::string text = read_file("/proc/meminfo", 1 << 16).value_or("");
    const std::size_t at = text.find("MemAvailable:");
    const bool fits = at != std::string::npos && std::stoull(text.substr(at + 13)) > 2'000'000;
    return fits ? "" : "there is too little memory";
  }

  Lab lab_;
};

TEST_F(Builds, OfAPlanRunAtTheSameTimeAndBeforeTheFirstTrial) {
  if (const std::string why = why_not_two(); !why.empty()) GTEST_SKIP() << why;
  write(2, R"("wall")");
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_EQ(lab_.submit("work/plan.toml"), 1);
  ASSERT_TRUE(lab_.wait_until_final(1));
  EXPECT_EQ(lab_.state(1), "done") << lab_.ctl({"logs", "1"}).out;
  EXPECT_EQ(lab_.trials(1).size(), 8U);
  EXPECT_GE(at_once(), 2);
  EXPECT_LE(at_once(), static_cast<int>(std::thread::hardware_concurrency()));
  const Output status = lab_.ctl({"logs", "1"});
  EXPECT_THAT(status.out, Not(HasSubstr("failed")));
}

TEST_F(Builds, WhoseTimeIsComparedRunOneAtATime) {
  write(1, R"(["wall", "compile-time"])");
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_EQ(lab_.submit("work/plan.toml"), 1);
  ASSERT_TRUE(lab_.wait_until_final(1));
  EXPECT_EQ(lab_.state(1), "done") << lab_.ctl({"logs", "1"}).out;
  EXPECT_EQ(at_once(), 1);
}

TEST_F(Builds, ThatNobodyWaitsForAnyMoreEndWithTheirExperiment) {
  if (const std::string why = why_not_two(); !why.empty()) GTEST_SKIP() << why;
  write(5, R"("wall")");
  ASSERT_TRUE(lab_.start_daemon());
  ASSERT_EQ(lab_.submit("work/plan.toml"), 1);
  ASSERT_TRUE(wait_for_text(lab_.path("log"), "begin\nbegin\n"));
  EXPECT_EQ(lab_.ctl({"cancel", "1"}).code, 0);
  EXPECT_EQ(lab_.state(1), "cancelled");
  EXPECT_EQ(lab_.worker(), 0);
  EXPECT_EQ(read_file(lab_.path("log"), 1 << 20).value_or(""), "begin\nbegin\n");
}

}  // namespace
}  // namespace stab::test
