// SPDX-License-Identifier: MIT
// What 'ab', 'run' and 'report' say by default has room on one screen, failures included.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/fd.h"
#include "tests/system/ab_testing.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ScreenTest : public ::testing::Test {
 protected:
  // In the lab's folder, with a database of its own each time.
  Output in_folder(std::vector<std::string> arguments) {
    std::vector<std::string> argv = {"/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", lab_.folder(),
                                     STAB_BIN_DIR "/stabctl"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return run_program(argv, lab_.folder());
  }
  Output ab(const std::string& budget, const std::vector<std::string>& versions) {
    std::vector<std::string> arguments = {"ab", "--state", state(), "--budget", budget};
    arguments.insert(arguments.end(), versions.begin(), versions.end());
    return in_folder(arguments);
  }
  std::string state() { return lab_.path("state" + std::to_string(++runs_)); }
  Lab lab_;
  int runs_ = 0;
};

TEST_F(ScreenTest, ABudgetThatIsTooSmallForTenRoundsIsRefused) {
  const Output refused = ab("2s", {"--", "echo >>runs; sleep 0.1", "echo >>runs; sleep 0.1 "});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err,
              ContainsRegex(
                  "the budget of 2 s is not enough for 10 rounds: use --budget |its timeout of "));
  // At most two runs of each version are needed to know this.
  const std::string runs = read_file(lab_.path("runs"), 1 << 20).value_or("");
  EXPECT_TRUE(runs.size() >= 1 && runs.size() <= 4) << runs.size();
}

// The answer first, a row a version, what to do next.
TEST_F(ScreenTest, TwoVersionsWithoutAPlan) {
  const Output told = with_enough(
      4, [this](const std::string& budget) { return ab(budget, {"--", "true", "exit 0"}); });
  ASSERT_EQ(told.code, 0) << told.err;
  expect_one_screen(told.out);
  EXPECT_THAT(told.out, StartsWith("true or exit-0?\n\nAnswer: "));
  EXPECT_THAT(told.out,
              AllOf(HasSubstr("\n  version "), ContainsRegex("\n  true-again .*\\(control\\)"),
                    HasSubstr("\n  Random    "), HasSubstr("\nWith --full: ")));
  EXPECT_THAT(told.out, Not(HasSubstr("NUMBER")));
}

// Ctrl-C keeps what is measured, and shows it.
TEST_F(ScreenTest, WhatIsInterruptedShowsWhatItHas) {
  lab_.write("same.sh",
             "#!/bin/sh\necho run >>runs\n[ \"$(wc -l <runs)\" -lt 60 ] || echo many >enough\n"
             "exec sleep 0.02\n",
             true);
  const std::string folder = state();
  const pid_t child =
      start_program({STAB_BIN_DIR "/stabctl", "ab", "--state", folder, "--budget", "30min",
                     "--no-heap", "--margin", "0.0001%", "--", "./same.sh", "./same.sh "},
                    lab_.folder(), lab_.path("said"));
  EXPECT_TRUE(wait_for_text(lab_.path("enough"), "many"));
  kill(child, SIGINT);
  EXPECT_EQ(end_of(child), 128 + SIGINT);
  const std::string said = read_file(lab_.path("said"), 1 << 20).value_or("");
  EXPECT_THAT(said, AllOf(HasSubstr("? (interrupted: the results so far)\n\nAnswer: "),
                          HasSubstr("\n  version "),
                          HasSubstr("\nNext: for all details: stabctl report --full ")));
}

constexpr const char* plan = R"([experiment]
name = "flags"
question = "Is -O2 worth it, or does a build fail?"
[defaults]
repetitions = 4
[[benchmark]]
name = "one"
build = "cc ${CFLAGS} -o ${OUT} a.c"
sources = ["a.c"]
run = ["${OUT}", "${N}"]
[[benchmark]]
name = "two"
build = "cc ${CFLAGS} -no-such-flag -o ${OUT} a.c"
sources = ["a.c"]
run = ["${OUT}", "${N}"]
[factor.arg]
levels = { few = { N = "1" }, many = { N = "2" } }
[factor.opt]
levels = { slow = { CFLAGS = "-O0" }, fast = { CFLAGS = "-O2" } }
[factor.env_bytes]
random = { per = "block" }
)";

// The cause of what failed stands in the answer, once; the factor that the question names is first.
TEST_F(ScreenTest, APlanWhoseBuildsFail) {
  lab_.write("a.c", "int main(void) { return 0; }\n");
  lab_.write("plan.toml", plan);
  const std::string folder = state();
  const Output ran = in_folder({"run", "--state", folder, "plan.toml"});
  const Output report = in_folder({"report", "--state", folder});
  for (const Output& told : {ran, report}) {
    expect_one_screen(told.out);
    const std::string words = joined(told.out);
    EXPECT_THAT(words, ContainsRegex("Answer: 16 of 32 trials have no result: the build failed: .*"
                                     "no-such-flag.* \\(two arg=few opt=fast, two arg=few "
                                     "opt=slow and 2 more cells\\)"))
        << ran.err;
    std::size_t causes = 0;
    for (std::size_t at = 0; (at = words.find("the build failed", at)) != std::string::npos; ++at)
      ++causes;
    EXPECT_EQ(causes, 1U) << told.out;

    EXPECT_THAT(words, HasSubstr("Next: 'stabctl logs 1'"));
    EXPECT_LT(words.find("opt=fast ", words.find("cells)")), words.find("arg=many ")) << words;
  }
  EXPECT_EQ(ran.code, 5);
}

// A variable that no command names changes nothing.
TEST_F(ScreenTest, CheckSaysThatAPlansCompilerIsNotUsed) {
  const std::string rest =
      "\n[experiment]\nname = 'cmake'\n[variables]\nCXX = 'szc++'\n[[benchmark]]\nname = 'b'\n"
      "run = ['${OUT}']\n";
  for (const auto& [build, said] :
       {std::pair("cmake -B b . && cp b/p ${OUT}",
                  "a variable in [variables] names szc, but no build command uses the variable; "
                  "write 'CXX=${CXX} ' before"),
        std::pair("CXX=${CXX} cmake -B b . && cp b/p ${OUT}", "programs built by szc place")}) {
    lab_.write("plan.toml", rest + "build = '" + build + "'\n");
    const Output told = lab_.ctl({"check", lab_.path("plan.toml")});
    EXPECT_THAT(joined(told.out), HasSubstr(said)) << told.err;
  }
}

TEST_F(ScreenTest, AReportBeforeTheFirstTrialSaysThatItIsTooEarly) {
  lab_.write("plan.toml",
             "[experiment]\nname = 'builds'\n[[benchmark]]\nname = 'b'\nsources = ['a.c']\n"
             "build = \"sleep 60 && cc ${X} -o ${OUT} a.c\"\nrun = ['${OUT}']\n"
             "[factor.x]\nlevels = { a = { X = '-O1' }, b = { X = '-O2' } }\n");
  lab_.write("a.c", "int main(void) { return 0; }\n");
  ASSERT_TRUE(lab_.start_daemon());
  const Output submitted = lab_.ctl({"submit", lab_.path("plan.toml")});
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  ASSERT_TRUE(lab_.wait_for(1, "building"));
  const std::string words = joined(lab_.ctl({"report", "1"}).out);
  EXPECT_THAT(words, HasSubstr("Answer: too early to tell: the experiment is building, and none of "
                               "its "));
  EXPECT_THAT(words, Not(HasSubstr("nothing to compare")));
  lab_.ctl({"cancel", "1"});
}

}  // namespace
}  // namespace stab::test
