// SPDX-License-Identifier: MIT
// What stabctl prints arrives, or stabctl fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Words = std::vector<std::string>;

// As --help lists them.
Words all_verbs(const std::string& help) {
  std::istringstream lines(help.substr(help.find("Subcommands:")));
  Words verbs;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("  "))
    verbs.push_back(line.substr(2, line.find_first_of(" ,", 2) - 2));
  return verbs;
}

class Printed : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(own_state_folder(lab_.path("default")));
    lab_.write("plan.toml", plan_of("true", 4) + "[measure]\nprofile = \"task-clock:u\"\n");
    lab_.write("long.toml", plan_of("sleep", 1000));
    lab_.write("p.coz",
               "experiment\tselected=a:1\tspeedup=0\tduration=5\n"
               "throughput-point\tname=p\tdelta=1\n");
    lab_.write("program.c",
               "int main(void) { for (volatile long i = 0; i < 100000000; ++i) {} }\n");
    ASSERT_EQ(
        run_program({"/bin/sh", "-c", "clang-22 -g -o program program.c"}, lab_.folder()).code, 0);
    lab_.write("a.csv", "f,y\na,1\na,2\na,3\nb,2\nb,3\nb,5\n");
    lab_.write("root/proc/sys/kernel/random/boot_id", "this-one\n");
    ASSERT_TRUE(lab_.start_daemon());
    for (int id = 1; id <= 2; ++id) {
      ASSERT_EQ(lab_.submit("plan.toml"), id);
      ASSERT_TRUE(lab_.wait_until_final(id));
    }
    ASSERT_EQ(lab_.ctl({"export", "1", "--archive", lab_.path("kept.stab")}).code, 0);
    long_ = std::to_string(lab_.submit("long.toml"));
    ended_ = std::to_string(lab_.submit("long.toml"));
    ASSERT_EQ(lab_.ctl({"cancel", ended_}).code, 0);
  }
  void TearDown() override { drop_state_folder(); }

  static std::string plan_of(const std::string& program, int repetitions) {
    return "[experiment]\nname = \"" + program + "\"\n[[benchmark]]\nname = \"b\"\nrun = [\"" +
           program + "\", \"1000\"]\nrepetitions = " + std::to_string(repetitions) + "\n";
  }
  // With stdout as the shell's `redirected` says.
  Output ctl(const std::string& redirected, const Words& arguments) const {
    Words argv{"/bin/sh",
               "-c",
               "exec \"$@\" " + redirected,
               "sh",
               std::string(STAB_BIN_DIR) + "/stabctl",
               "--socket",
               lab_.path("s.sock")};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return run_program(argv, lab_.folder());
  }
  // What each verb is tried with, in this order.
  std::vector<Words> tried() const {
    const std::string root = lab_.path("root");
    const std::string log = lab_.path("quiesce.log");
    return {{"run", "--state", lab_.path("run"), lab_.path("plan.toml")},
            // A rule ends it long before.
            {"ab", "--budget", "1min", "--state", lab_.path("ab"), "--", "true", "sleep 0.3"},
            {"demo", "--json"},
            {"submit", lab_.path("plan.toml")},
            {"check", lab_.path("plan.toml")},
            {"keys"},
            {"runs"},
            {"list"},
            {"status", "1"},
            {"watch", "1"},
            {"pause", long_},
            {"pause", "--queue"},
            {"resume", long_},
            {"resume", "--queue"},
            {"cancel", long_},
            {"retry", ended_},
            {"report", "1"},
            {"logs", "1"},
            {"logs", "--follow", "1"},
            {"compare", "1"},
            {"export", "1"},
            {"history", "b"},
            {"causal", "--read", lab_.path("p.coz")},
            {"causal", "--end-to-end", "--runs", "1", "--scope", "*", "--", lab_.path("program")},
            {"replay", "--print", "1", "0"},
            {"profile", "1", "0"},
            {"analyze", lab_.path("a.csv"), "--response", "y", "--factors", "f"},
            {"counters"},
            {"doctor"},
            {"machines"},
            {"compiler", "list"},
            {"help"},
            {"help", "--man", "run"},
            {"completion", "bash"},
            {"completion", "words", "--", "re"},
            {"quiet", "status", "--root", root, "--log", log},
            {"quiet", "restore", "--root", root, "--log", log},
            {"export", "1", "--archive", lab_.path("more.stab")},
            {"import", lab_.path("kept.stab"), "--state", lab_.path("elsewhere")},
            {"backup", lab_.path("copy.db")},
            {"recover", lab_.path("kept.stab"), lab_.path("whole.db")},
            {"sql", "--state", lab_.path("state"), "SELECT * FROM experiment"},
            {"rm", "1"}};
  }

  Lab lab_;
  std::string long_;
  std::string ended_;
};

TEST_F(Printed, EveryVerbFailsWhenItsOutputCannotBeWritten) {
  std::map<std::string, int> times;
  for (const Words& arguments : tried()) {
    ++times[arguments.front()];
    SCOPED_TRACE(::testing::PrintToString(arguments));
    // It can be resumed as soon as its trial has ended.
    if (arguments == Words{"resume", long_}) ASSERT_TRUE(lab_.wait_for(std::stoi(long_), "paused"));
    const Output refused = ctl(">/dev/full", arguments);
    EXPECT_EQ(refused.code, 1) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("stabctl: cannot write"));
    EXPECT_THAT(refused.err, EndsWith(": No space left on device\n"));
  }
  for (const std::string& verb : all_verbs(ctl("", {"--help"}).out))
    EXPECT_GT(times[verb], 0) << verb << " is not tried";
  EXPECT_GT(times.size(), 20U);
  for (const char* option : {"--help", "--version"}) EXPECT_EQ(ctl(">/dev/full", {option}).code, 1);
  // What was printed only; what it was about is done.
  EXPECT_THAT(ctl("", {"status", "1"}).err, HasSubstr("there is no experiment 1"));
}

TEST_F(Printed, AStreamThatTheCallerClosedIsNoConnection) {
  const Output refused = ctl(">&-", {"list"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, StartsWith("stabctl: cannot write"));
  EXPECT_EQ(ctl("<&- 2>&-", {"list"}).code, 0);
}

TEST_F(Printed, AReaderThatHasGoneIsNoError) {
  const Output left = run_program(
      {"/bin/bash", "-c", "trap '' PIPE; { sleep 0.3; \"$@\"; echo $? >&2; } | true", "sh",
       std::string(STAB_BIN_DIR) + "/stabctl", "--socket", lab_.path("s.sock"), "list"},
      lab_.folder());
  EXPECT_EQ(left.err, "0\n");
  // More than fits into the buffer of stdout is written before the end.
  const Output many = run_program(
      {"/bin/bash", "-c", "trap '' PIPE; { sleep 0.3; \"$@\"; echo $? >&2; } | true", "sh",
       std::string(STAB_BIN_DIR) + "/stabctl", "--socket", lab_.path("s.sock"), "help", "--man"},
      lab_.folder());
  EXPECT_EQ(many.err, "0\n");
}

}  // namespace
}  // namespace stab::test
