// SPDX-License-Identifier: MIT
// What 'stabctl causal -- PROGRAM' says of programs that cannot be profiled, or not well, as doc/causal.md
// says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/system/causal_testing.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CausalProgramsTest : public CausalSubjectTest {
 protected:
  std::set<std::string> files() const {
    std::set<std::string> all;
    for (const auto& each : fs::directory_iterator(lab_.folder()))
      all.insert(each.path().filename().string());
    return all;
  }
};

// The same name in two translation units is one point.
TEST_F(CausalProgramsTest, AProgramWithDebiansCozHIsProfiledUnchanged) {
  if (!fs::exists("/usr/include/coz.h")) GTEST_SKIP() << "coz-profiler is not installed";
  const std::string source = STAB_SOURCE_DIR "/tests/system/causal_coz.c";
  const Output objects = run_program(
      {"/bin/sh", "-c", "clang-22 -g -O1 -DSECOND -c -o second.o " + source}, lab_.folder());
  ASSERT_EQ(objects.code, 0) << objects.err;
  const std::string program = compile("with_coz", "clang-22 -g " + source + " second.o -ldl");
  const Output made = causal({"--runs", "1", "--experiment", "20ms", "--scope", "*/causal_coz.c",
                              "--json", "--coz", lab_.path("kept.coz"), "--", program});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr(" 12000 visits in "))
      << "6000 items, and as many begins and ends";
  std::set<std::string> points;
  for (const json& point : json::parse(made.out)["points"])
    points.insert(point["kind"].get<std::string>() + " " + point["name"].get<std::string>());
  EXPECT_EQ(points, (std::set<std::string>{"latency piece", "throughput item"}));
}

// From end to end all visits are in the one experiment of a run: of programs that stand before functions
// themselves, too.
TEST_F(CausalProgramsTest, EachVisitIsCountedOnce) {
  const std::string source = STAB_SOURCE_DIR "/causal/preload/programs/layers.c";
  for (const std::string compiler : {"clang-22", STAB_BIN_DIR "/szc"})
    for (const char* own : {"", " -DOWN"}) {
      const std::string program =
          compile("layers", compiler + " -g -I " STAB_SOURCE_DIR + own + " " + source);
      const Output made = causal({"--runs", "2", "--end-to-end", "--scope", "*/layers.c", "--json",
                                  "--output", lab_.path("answer"), "--", program, "300"});
      ASSERT_EQ(made.code, 0) << made.err;
      std::map<std::string, int> visits;
      for (const json& point : json::parse(text_of(lab_.path("answer")))["points"])
        visits[point["name"]] = point["visits"];
      EXPECT_EQ(visits, (std::map<std::string, int>{
                            {"call", 2 * 300}, {"thread", 2 * 600}, {"end to end", 2}}))
          << compiler << own;
    }
}

TEST_F(CausalProgramsTest, AProgramWhoseFirstThreadEndsFirstIsProfiledAndEnds) {
  lab_.write("first.c",
             "#include <pthread.h>\n#include <stabilizer.h>\n"
             "static void *work(void *a) {\n  for (int i = 0; i < 3000; ++i) {\n"
             "    for (long k = 300000; k > 0; --k) __asm__ volatile(\"\" : \"+r\"(k));\n"
             "    STAB_PROGRESS(\"x\");\n  }\n  return a;\n}\n"
             "int main(void) {\n  pthread_t t;\n  pthread_create(&t, 0, work, 0);\n"
             "  pthread_detach(t);\n  pthread_exit(0);\n}\n");
  const std::string program = compile("first", "clang-22 -O1 -g " + lab_.path("first.c"));
  const Output made = causal({"--runs", "2", "--end-to-end", "--timeout", "2min", "--scope",
                              "*/first.c", "--json", "--", program});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(json::parse(made.out)["points"][0]["visits"], 2 * 3000) << made.out;
}

TEST_F(CausalProgramsTest, ARunThatFailsIsLeftOutAndTheOthersAreKept) {
  const Output made =
      run({"--runs", "3", "--json"}, {program(), "once", "5000", lab_.path("has_failed")});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("run 1 of 3: the program exited with 9; the run is left out"));
  EXPECT_EQ(json::parse(made.out)["runs"], 2);
}

TEST_F(CausalProgramsTest, ACrashIsSaidAsItWas) {
  const Output made = run({"--runs", "1"}, {program(), "crash", "1"});
  EXPECT_EQ(made.code, 1);
  EXPECT_THAT(made.err, HasSubstr("the program was killed by Segmentation fault; the run is left"));
  EXPECT_EQ(made.out, "");
}

TEST_F(CausalProgramsTest, WhatIsTooShortOrHasNoPointsIsToldWhatToChange) {
  const std::string path = program();
  const auto refused = [&](const Words& command) {
    const Output made =
        causal({"--runs", "1", "--experiment", "5min", "--scope", "*/causal_subject.c", "--coz",
                lab_.path("kept.coz"), "--", path, command[0], command[1]});
    EXPECT_EQ(made.code, 1);
    EXPECT_TRUE(fs::exists(lab_.path("kept.coz"))) << "what there is can be looked at";
    return made.err;
  };
  // Of a program that was stopped for a second nobody says that it is short.
  std::string said = refused({"work", "200"});
  for (int i = 0; i < 10 && !said.contains("too short"); ++i) said = refused({"work", "200"});
  EXPECT_THAT(said, AllOf(HasSubstr("too short: give it more work, or shorten the experiments"),
                          Not(HasSubstr("No progress point"))));
  EXPECT_THAT(refused({"silent", "200"}), HasSubstr("No progress point was visited. Add STAB_PRO"));
}

// Who has forgotten them does not wait for five runs.
TEST_F(CausalProgramsTest, AfterARunWithoutAProgressPointNoOtherOneBegins) {
  const std::string path = program();
  const Output made =
      causal({"--runs", "3", "--scope", "*/causal_subject.c", "--", path, "silent", "100000"});
  EXPECT_EQ(made.code, 1);
  EXPECT_THAT(made.err, AllOf(HasSubstr("run 1 of 3: "), Not(HasSubstr("run 2 of 3: ")),
                              HasSubstr("No progress point was visited. Add STAB_PROGRESS")));
  EXPECT_THAT(made.err, HasSubstr("No progress point was visited in the first 2 s: if the program "
                                  "has no progress point, press Ctrl-C"));
}

// A progress point that is visited all the time needs no experiments of half a second.
TEST_F(CausalProgramsTest, ExperimentsAreAsLongAsTheProgressPointNeeds) {
  const std::string path = program();
  const Output made =
      causal({"--runs", "1", "--scope", "*/causal_subject.c", "--", path, "work", "40000"});
  std::smatch run;
  ASSERT_TRUE(std::regex_search(
      made.err, run, std::regex("run 1 of 1: ([0-9]+) experiments, [0-9]+ visits in ([0-9.]+) s")))
      << made.err;
  EXPECT_GT(std::stod(run[1]), 2.5 * std::stod(run[2])) << made.err;
}

TEST_F(CausalProgramsTest, SigtermEndsTheProgramAndLeavesNothing) {
  const std::string path = program();
  std::set<std::string> expected = files();
  expected.insert({"pid", "said"});
  const pid_t child =
      start_program({STAB_BIN_DIR "/stabctl", "causal", "--scope", "*/causal_subject.c",
                     "--experiment", "20ms", "--", path, "pid", "100000000", lab_.path("pid")},
                    lab_.folder(), lab_.path("said"));
  ASSERT_TRUE(wait_for_text(lab_.path("pid"), "."));
  kill(child, SIGTERM);
  EXPECT_EQ(end_of(child), 128 + SIGTERM);
  EXPECT_EQ(kill(std::stoi(text_of(lab_.path("pid"))), 0), -1);
  EXPECT_EQ(errno, ESRCH);
  EXPECT_EQ(files(), expected);
}

TEST_F(CausalProgramsTest, ProgramsThatGainRightsAreRefused) {
  // For root a program of another user's, for others one of root's.
  std::string gaining = "/bin/su";
  if (geteuid() == 0) {
    gaining = program();
    ASSERT_EQ(chown(gaining.c_str(), 65534, 65534), 0);
    ASSERT_EQ(chmod(gaining.c_str(), 04755), 0);
  }
  const Output made = run({}, {gaining, "work", "1"});
  EXPECT_EQ(made.code, 1);
  EXPECT_EQ(made.out, "");
  EXPECT_THAT(made.err, HasSubstr("is setuid or gains other rights"));
  EXPECT_THAT(made.err, HasSubstr("profile a copy without those rights"));
}

TEST_F(CausalProgramsTest, ARunThatHangsIsEndedByTheTimeoutAndLeftOut) {
  for (const char* mode : {"hang", "stubborn"}) {
    const Output made = run({"--runs", "1", "--timeout", "1s"}, {program(), mode, "1"});
    EXPECT_EQ(made.code, 1);
    EXPECT_THAT(made.err, HasSubstr("run 1 of 1: the program took longer than --timeout and was "
                                    "killed; the run is left out"))
        << mode;
  }
}

TEST_F(CausalProgramsTest, ALongTimeWithoutVisitsIsSaidWhileTheProgramRuns) {
  const Output made = run({"--runs", "1", "--timeout", "25s"}, {program(), "hang", "1"});
  EXPECT_THAT(made.err,
              HasSubstr("No progress point was visited for 10 s: if the program hangs, stop "));
}

TEST_F(CausalProgramsTest, ProcessesThatAProgramLeavesBehindAreSaid) {
  const Output made = run({"--runs", "1"}, {program(), "leave", "1"});
  EXPECT_EQ(made.code, 1);
  EXPECT_THAT(
      made.err,
      HasSubstr(
          "The profile does not cover processes that were still running when the program ended"));
}

// Without the right to look at the kernel. Where everybody has it, nothing is said.
TEST_F(CausalProgramsTest, SamplesOfUserCodeAloneAreSaid) {
  int paranoid = 0;
  std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> paranoid;
  if (paranoid != 2 || geteuid() != 0)
    GTEST_SKIP() << "perf events are not a matter of rights here";
  const Output made =
      run_program({"/usr/bin/setpriv", "--bounding-set=-sys_admin,-perfmon",
                   STAB_BIN_DIR "/stabctl", "causal", "--runs", "1", "--experiment", "20ms",
                   "--scope", "*/causal_subject.c", "--", program(), "work", "5000"},
                  lab_.folder());
  if (made.err.contains("taken by a timer")) GTEST_SKIP() << "perf events are refused altogether";
  EXPECT_THAT(made.err,
              HasSubstr("Only user code is sampled (kernel.perf_event_paranoid is above 1)"));
}

}  // namespace
}  // namespace stab::test
