// SPDX-License-Identifier: MIT
// Versions are compared without a plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "base/fd.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class Ab : public ::testing::Test {
 protected:
  // In the lab's folder, with a database of its own each time.
  Output ab(std::vector<std::string> arguments) {
    std::vector<std::string> argv = {"/bin/sh",
                                     "-c",
                                     "cd \"$0\" && exec \"$@\"",
                                     lab_.folder(),
                                     STAB_BIN_DIR "/stabctl",
                                     "ab",
                                     "--state",
                                     lab_.path("state" + std::to_string(++runs_))};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return run_program(argv, lab_.folder());
  }
  void build(const std::string& name, const std::string& compiler, int rounds) {
    lab_.write(name + ".c",
               "#include <stdio.h>\nstatic unsigned next(unsigned x) { return x * 1664525u + 1; }\n"
               "int main(void) { volatile unsigned x = 1; for (int i = 0; i < " +
                   std::to_string(rounds) +
                   " * 100000; ++i) x = next(x); puts(\"done\"); return 0; }\n");
    const Output built = run_program(
        {"/bin/sh", "-c",
         "cd '" + lab_.folder() + "' && " + compiler + " -O1 " + name + ".c -o " + name},
        lab_.folder());
    ASSERT_EQ(built.code, 0) << built.err;
  }

  Lab lab_;
  int runs_ = 0;
};

TEST_F(Ab, WhatIsPreparedIsThereForEachRun) {
  const std::vector<std::string> commands = {"--", "cat given", "cat given given"};
  std::vector<std::string> arguments = {
      "--budget",  "3s",      "--json", "--prepare", "test ! -e given && echo '$x' > given",
      "--cleanup", "rm given"};
  arguments.insert(arguments.end(), commands.begin(), commands.end());
  const Output told = ab(arguments);
  ASSERT_EQ(told.code, 0) << told.err;
  const json document = json::parse(told.out);
  EXPECT_EQ(document["report"]["trials"]["failed"], 0) << document["report"]["failures"];
  ASSERT_EQ(document["report"]["means"].size(), 3U) << "two, and the control";

  arguments = {"--prepare", "echo no room >&2; exit 3"};
  arguments.insert(arguments.end(), commands.begin(), commands.end());
  const Output failed = ab(arguments);
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, AllOf(HasSubstr("--prepare of "), HasSubstr("exit code 3: no room")));
}

// On a busy machine starting them takes most of the time of the shorter one.
TEST_F(Ab, AProgramThatDoesTwentyTimesAsMuchIsSlowerAndThatIsAnAnswer) {
  build("old", "cc", 50);
  build("new", STAB_BIN_DIR "/szc", 1000);
  const std::vector<std::string> both = {"--budget", "1min", "--program", "./old",
                                         "./new",    "--",   "--size",    "1000"};
  const Output told = ab(both);
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out,
              AllOf(HasSubstr("new is slower than old: "),
                    HasSubstr("The places of functions are random of new and not of old"),
                    HasSubstr("\nold: ./old\nnew: ./new\n"), HasSubstr("\nCode: old has "),
                    HasSubstr(" times as many).\n"), Not(HasSubstr("print different things"))));
  auto table = both;
  table.insert(table.begin(), "--markdown");
  EXPECT_THAT(ab(table).out, AllOf(HasSubstr("|---|"), HasSubstr("| `new` |"),
                                   HasSubstr("| slower |"), Not(HasSubstr("Assumptions"))));
  auto more = both;
  more.insert(more.begin(), {"--fail-on", "regressed", "--json"});
  const Output failed = ab(more);
  EXPECT_EQ(failed.code, 2) << failed.err;
  const json document = json::parse(failed.out);
  EXPECT_THAT(document["conclusions"][0]["sentence"].get<std::string>(),
              HasSubstr("new is slower than old"));
  EXPECT_TRUE(document["regressed"]);
  EXPECT_TRUE(document["same_output"]);
  EXPECT_THAT(document["code"].get<std::string>(), HasSubstr("Code: old has "));
  EXPECT_EQ(document["report"]["effects"].size(), 2U) << "one, and the control";
  EXPECT_LT(document["report"]["stopping"]["blocks"], document["report"]["stopping"]["most"]);
}

std::string randomized(const Output& told) {
  const json document = json::parse(told.out, nullptr, false);
  return document.is_object() ? document["randomized"].get<std::string>() : told.out + told.err;
}

TEST_F(Ab, BlocksOfTheHeapAreAtRandomPlacesWhereThatWorksAndElseItIsSaid) {
  const std::vector<std::string> short_run = {"--budget", "2s", "--no-control", "--json"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), short_run.begin(), short_run.end());
    const Output told = ab(more);
    EXPECT_EQ(told.code, 0) << told.err;
    return told;
  };
  lab_.write(
      "a.c",
      "#include <stdlib.h>\nint main(void) { char *volatile p = malloc(100); free(p); return "
      "getenv(\"PICKY\") && getenv(\"LD_PRELOAD\") ? 9 : 0; }\n");
  ASSERT_EQ(
      run_program({"/bin/sh", "-c", "cc -O1 a.c -o a && cp a b && cc -O1 -static a.c -o fixed"},
                  lab_.folder())
          .code,
      0);
  const std::string on =
      "the places of blocks in the heap. Not random: the places of functions, the "
      "sizes of stack frames.";
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"--program", "./a", "./b"}, {"--", "./a", "./b"}}) {
    const Output told = run(how);
    EXPECT_THAT(randomized(told), HasSubstr(on));
    const json report = json::parse(told.out)["report"];
    EXPECT_EQ(report["layouts"]["kinds"], "heap shuffled once");
    EXPECT_EQ(report["layouts"]["randomized"], report["trials"]["ok"]);
  }
  // A program that breaks is measured without.
  const Output picky = run({"--env", "PICKY=1", "--program", "./a", "./b"});
  EXPECT_THAT(randomized(picky), HasSubstr("blocks in the heap (a does not run so: ended with exit "
                                           "code 9, not 0), the sizes"));
  EXPECT_EQ(json::parse(picky.out)["report"]["trials"]["failed"], 0);
  const Output without = run({"--no-heap", "--", "./a", "./b"});
  EXPECT_THAT(randomized(without), HasSubstr("blocks in the heap (--no-heap), the sizes"));
  EXPECT_EQ(json::parse(without.out)["report"]["layouts"]["randomized"], 0);

  const Output refused = ab({"--heap", "--program", "./a", "./fixed"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(
      refused.err,
      HasSubstr("--heap: fixed does not take libstabheap.so, as nothing does that is linked "
                "statically, has more rights"));
  EXPECT_NE(ab({"--heap", "--no-heap", "--program", "./a", "./b"}).code, 0);
}

// The loader ignores LD_PRELOAD for it.
TEST_F(Ab, AProgramWithMoreRightsKeepsItsHeap) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a program another user's rights";
  lab_.write("a.c",
             "#include <stdio.h>\n#include <sys/auxv.h>\n"
             "int main(void) { return getauxval(AT_SECURE) ? 0 : 3; }\n");
  const Output made = run_program(
      {"/bin/sh", "-c", "cc a.c -o a && chown 65534 a && chmod 4755 a && ./a"}, lab_.folder());
  if (made.code != 0) GTEST_SKIP() << "nobody gets other rights here: " << made.err;
  const Output refused = ab({"--heap", "--program", "./a", "./a"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--heap: a does not take libstabheap.so"));
}

TEST_F(Ab, CommandsAreTakenAsTheyAreAndDifferentOutputIsSaid) {
  const Output told = ab({"--budget", "3s", "--env", "GREETING=a $ \"b\"", "--json", "--",
                          "printf '%s\\n' \"$GREETING\" | grep -qx 'a \\$ \"b\"' && echo one",
                          "test -n \"$PATH\" && echo two"});
  ASSERT_EQ(told.code, 0) << told.err;
  const json document = json::parse(told.out);
  EXPECT_EQ(document["report"]["trials"]["failed"], 0) << document["report"]["failures"];
  EXPECT_FALSE(document["same_output"]);
}

// A working tree is compared with the commit at which its branch left main.
TEST_F(Ab, RevisionsAreBuiltAndRunInFoldersOfTheirOwn) {
  lab_.write("Makefile", "bench: bench.c\n\t$(CC) -O1 -o $@ bench.c\n");
  build("bench", "cc", 20);
  ASSERT_EQ(run_program({"/bin/sh", "-c",
                         "rm bench && git init -q -b main . && git add -A && git -c user.name=a "
                         "-c user.email=a@b commit -qm one && sed -i 's/20 \\*/80 */' bench.c"},
                        lab_.folder())
                .code,
            0);
  const std::vector<std::string> how = {"--budget",        "1min",  "--build",
                                        "make CC=\"$CC\"", "--run", "test -d .git && ./bench"};
  auto arguments = how;
  arguments.insert(arguments.end(), {"--fail-on", "regressed"});
  const Output told = ab(arguments);
  EXPECT_EQ(told.code, 2) << told.err << told.out;
  EXPECT_THAT(told.out,
              AllOf(HasSubstr("working-tree is slower than "),
                    HasSubstr("libraries, the places of functions, the places of blocks in the "
                              "heap. Not random: the sizes of stack frames.")));
  EXPECT_FALSE(std::filesystem::exists(lab_.path("bench"))) << "the repository is as it was";
  // With --same all have the last one's source.
  std::vector<std::string> looks = {
      "--budget", "3s", "--build", "true", "--run", "grep -q '80 ' bench.c", "main", "."};
  EXPECT_THAT(ab(looks).err,
              ContainsRegex("main-[0-9a-f]{8} cannot be measured: it ended with exit code 1"));
  looks.insert(looks.begin(), {"--same", "bench.c"});
  const Output alike = ab(looks);
  EXPECT_EQ(alike.code, 0) << alike.err;

  auto broken = how;
  broken[3] = "echo because; false";
  const Output refused = ab(broken);
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("working-tree cannot be built: it ended with exit"),
                                 HasSubstr("because")));
}

TEST_F(Ab, AControlIsMeasuredBesideUnlessItIsRefusedAndIsNoVersion) {
  const Output told =
      ab({"--budget", "3s", "--save", "plan.toml", "--json", "--", "true", "exit 0"});
  ASSERT_EQ(told.code, 0) << told.err;
  const json document = json::parse(told.out);
  EXPECT_EQ(document["report"]["means"].size(), 3U);
  ASSERT_EQ(document["report"]["effects"].size(), 2U);
  for (const json& effect : document["report"]["effects"]) {
    EXPECT_EQ(effect["control"], effect["level"] == "true-again");
    EXPECT_EQ(effect["p_adjusted"], effect["p"]) << "each is a family by itself";
  }
  ASSERT_EQ(document["conclusions"].size(), 1U);
  EXPECT_EQ(document["conclusions"][0]["version"], "exit-0");
  EXPECT_EQ(document["control"]["version"], "true-again");
  EXPECT_THAT(document["randomized"].get<std::string>(),
              HasSubstr("(true does not take libstabheap.so, as nothing does"));
  EXPECT_EQ(document["control"]["trusted"], document["control"]["can_tell"].is_number());
  EXPECT_THAT(read_file(lab_.path("plan.toml"), 1 << 20).value_or(""),
              HasSubstr("control = \"true-again\""));
  const Output help = lab_.ctl({"help", "ab"});
  EXPECT_THAT(help.out,
              AllOf(ContainsRegex("\n  --no-control +Do not measure"), Not(HasSubstr("{false}"))));
  EXPECT_THAT(lab_.ctl({"help", "ab", "--json"}).out,
              AllOf(HasSubstr("\"--no-control\""), HasSubstr("\"--web\""), Not(HasSubstr("{0}"))));
  // Without it.
  const Output alone = ab({"--budget", "2s", "--no-control", "--json", "--", "true", "exit 0"});
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(json::parse(alone.out)["report"]["means"].size(), 2U);
  EXPECT_TRUE(json::parse(alone.out)["control"].is_null());
}

// Its first runs are quick, the others take a hundred times as long.
TEST_F(Ab, AProgramThatGetsSlowerGetsNoMoreTime) {
  lab_.write("slower", "#!/bin/sh\necho >>runs\n[ $(wc -l <runs) -le 12 ] || exec sleep 0.1\n");
  fs::permissions(lab_.path("slower"), fs::perms::owner_all);
  const Output told =
      ab({"--budget", "8s", "--no-control", "--json", "--", "./slower", "./slower x"});
  ASSERT_EQ(told.code, 0) << told.err;
  std::smatch planned;
  ASSERT_TRUE(std::regex_search(told.err, planned, std::regex("at most ([0-9]+) rounds")));
  std::smatch over;
  ASSERT_TRUE(std::regex_search(
      told.err, over, std::regex("the time of [^\n]* was over after ([0-9]+) of ([0-9]+) blocks")))
      << told.err;
  EXPECT_EQ(planned[1], over[2]);
  EXPECT_LT(std::stoul(over[1]), std::stoul(over[2]) / 2);
}

// Somebody who looks at the terminal's output as a file sees each look of the rule.
TEST_F(Ab, WhatTheRuleSeesIsToldWhileItRuns) {
  const Output told = ab({"--budget", "4s", "--margin", "0.001%", "--", "true", "exit 0"});
  ASSERT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.err, AllOf(ContainsRegex("command exit-0 against true: [-+][0-9.]+ %"),
                              HasSubstr("control: ")));
}

TEST_F(Ab, AVersionThatFailsAtTimesIsNotCompared) {
  lab_.write("fails",
             "#!/bin/sh\n[ -e once ] || { touch once; exit 0; }\n"
             "[ -e twice ] || { touch twice; exit 0; }\nexit 7\n",
             true);
  const Output told = ab({"--budget", "2s", "--no-heap", "--", "./fails", "true"});
  EXPECT_EQ(told.code, 5) << told.err;
  EXPECT_THAT(told.out,
              ContainsRegex("cannot compare true with fails: fails failed in [0-9]+ of "));
}

// Before the first trial, too: nothing is left behind.
TEST_F(Ab, CtrlCEndsABuildAndWhatItStarted) {
  ASSERT_EQ(run_program({"/bin/sh", "-c",
                         "git init -q -b main . && touch x && git add x && git -c user.name=a "
                         "-c user.email=a@b commit -qm one"},
                        lab_.folder())
                .code,
            0);
  const Output told =
      run_program({"/bin/sh", "-c",
                   "cd \"$0\" && exec timeout -s INT 2 " STAB_BIN_DIR
                   "/stabctl ab --build 'sleep 4711.25 & sleep 4711.5' --run true HEAD .",
                   lab_.folder()},
                  lab_.folder());
  EXPECT_THAT(told.err, HasSubstr("interrupted before anything was measured"));
  EXPECT_NE(run_program({"/usr/bin/pgrep", "-f", "sleep 4711[.]"}, "/").code, 0);
}

TEST_F(Ab, ThePlanThatItSavesIsOneAndNoFileIsReplaced) {
  const std::vector<std::string> twice = {"--budget", "2s",   "--save", "saved.toml",
                                          "--",       "true", "exit 0"};
  ASSERT_EQ(ab(twice).code, 0);
  const Output check = lab_.ctl({"check", lab_.path("saved.toml")});
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("exit-0"));
  const Output again = ab(twice);
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("there is a file saved.toml already"));
}

TEST_F(Ab, WhatCannotBeComparedIsRefusedBeforeAnythingIsMeasured) {
  const auto refusal = [this](const std::vector<std::string>& arguments) {
    const Output refused = ab(arguments);
    EXPECT_EQ(refused.code, 1);
    EXPECT_FALSE(std::filesystem::exists(lab_.path("state" + std::to_string(runs_))));
    return refused.err;
  };
  EXPECT_THAT(refusal({"--", "true"}), HasSubstr("two versions at least are compared"));
  EXPECT_THAT(refusal({"--", "true", "echo why >&2; exit 3"}),
              HasSubstr("it ended with exit code 3: why"));
  EXPECT_THAT(refusal({"--build", "true", "main", "."}), HasSubstr("revisions need both"));
  EXPECT_THAT(refusal({"--build", "true", "--run", "true", "no-such-branch", "."}),
              HasSubstr("no-such-branch is no revision of the repository"));
  EXPECT_THAT(refusal({"--program", "/bin/true", "./nothing"}), HasSubstr("is no program"));
  EXPECT_THAT(refusal({"--budget", "1s", "--", "true", "sleep 0.5"}), HasSubstr("--budget "));
  EXPECT_THAT(refusal({"--budget", "soon", "--", "true", "exit 0"}), HasSubstr("--budget soon"));
  EXPECT_THAT(refusal({"--margin", "wide", "--", "true", "exit 0"}), HasSubstr("margin"));
  EXPECT_THAT(refusal({"--fail-on", "rain", "--", "true", "exit 0"}), HasSubstr("--fail-on rain"));
  EXPECT_THAT(refusal({"--env", "NO_SUCH_VARIABLE", "--", "true", "exit 0"}),
              HasSubstr("there is no such variable"));
}

}  // namespace
}  // namespace stab::test
