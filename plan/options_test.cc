// SPDX-License-Identifier: MIT
// What a plan says of the runtime: factors, [randomize], what is refused, and what a trial gets.
#include "plan/options.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "design/resolve.h"
#include "design/trial_list.h"
#include "plan/reading/testing.h"
#include "runtime/base/allocators.h"

namespace stab::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

// Eight lines that szc builds.
const std::string with_szc = R"([experiment]
name = "t"
[variables]
CC = "szc"
[[benchmark]]
name = "b"
build = "${CC} ${CFLAGS} -o ${OUT} b.c ${LDFLAGS}"
run = ["${OUT}"]
)";

const std::string code = "[factor.code]\nlevels = [false, true]\n";
const std::string when = "[factor.rerandomize]\nlevels = ['once', 'repeated']\n";

std::string problems(const std::string& lines) {
  return problems_of(with_szc + lines);
}

// What the trials of a plan hand to the runtime, without the seed; each different one once.
std::set<Options> options_in(const std::string& lines) {
  const Plan plan = good_plan(with_szc + lines);
  std::set<Options> all;
  for (const Trial& trial : expand(plan).trials) {
    Options options = resolve(plan, trial).options;
    EXPECT_EQ(options.erase(seed_option), 1U);
    all.insert(options);
  }
  return all;
}

TEST(PlanOptions, AreFactorsAndBecomeWhatTheRuntimeReads) {
  EXPECT_THAT(options_in(code),
              UnorderedElementsAre(Options{{"code", "0"}}, Options{{"code", "1"}}));
  EXPECT_THAT(options_in(when), UnorderedElementsAre(Options{{"rerandomize", "once"}},
                                                     Options{{"rerandomize", "repeated"}}));
}

TEST(PlanOptions, AreConstantsInATableOfTheirOwn) {
  EXPECT_THAT(
      options_in("[randomize]\ncode = true\nrerandomize = 'repeated'\nperiod = '0.1s'\n"),
      ElementsAre(Options{{"code", "1"}, {"rerandomize", "repeated"}, {"period", "100ms"}}));
  EXPECT_THAT(options_in("[randomize]\ncode = false\n"), ElementsAre(Options{{"code", "0"}}));
}

TEST(PlanOptions, HeapAndAllocatorAreFactorsOfAnyProgram) {
  EXPECT_THAT(options_in("[factor.heap]\nlevels = [false, true]\n"),
              UnorderedElementsAre(Options{{"heap", "0"}}, Options{{"heap", "1"}}));
#define STAB_LEVEL(name, ...) "'" #name "'",
  const std::vector<std::string> levels{STAB_EACH_ALLOCATOR(STAB_LEVEL)};
#undef STAB_LEVEL
  EXPECT_THAT(
      options_in(fmt::format("[factor.allocator]\nlevels = [{}]\n", fmt::join(levels, ", "))),
      testing::SizeIs(levels.size()));
  const std::string plain = smallest.substr(0, smallest.find("run")) +
                            "build = '${CC} -o ${OUT} b.c ${LDFLAGS}'\nrun = ['${OUT}']\n";
  EXPECT_EQ(problems_of(plain + "[factor.heap]\nlevels = [false, true]\n"), "");
  EXPECT_EQ(wants_heap({}), std::nullopt);
  EXPECT_EQ(wants_heap({{"heap", "0"}}), std::optional(false));
  EXPECT_EQ(wants_heap({{"heap", "1"}, {"allocator", "tlsf"}}), std::optional(true));
}

TEST(PlanOptions, OfAPlanThatSaysNothingAreTheRuntimesOwn) {
  EXPECT_THAT(options_in(""), ElementsAre(Options()));
}

TEST(PlanOptions, APeriodAsksForRepeatedLayoutsAndALayoutFactorForOne) {
  EXPECT_THAT(options_in("[randomize]\nbudget = '10%'\n"),
              ElementsAre(Options{{"budget", "10%"}, {"rerandomize", "repeated"}}));
  EXPECT_THAT(options_in("[factor.period]\nlevels = ['50ms', '500ms']\n"),
              UnorderedElementsAre(Options{{"period", "50ms"}, {"rerandomize", "repeated"}},
                                   Options{{"period", "500ms"}, {"rerandomize", "repeated"}}));
  const std::string layout =
      "[factor.layout]\nrandom = { seeds = 2, runs = 2 }\n[design]\nkind = 'nested'\n";
  EXPECT_THAT(options_in(layout), ElementsAre(Options{{"rerandomize", "once"}}));
  EXPECT_THAT(options_in(layout + "[randomize]\nrerandomize = 'repeated'\n"),
              ElementsAre(Options{{"rerandomize", "repeated"}}));
}

TEST(PlanOptions, TheSeedIsTheTrialsOwnUnlessThereIsALayoutFactor) {
  const Plan own = good_plan(with_szc + code);
  std::set<std::string> seeds;
  for (const Trial& trial : expand(own).trials) {
    EXPECT_EQ(resolve(own, trial).options.at("seed"), std::to_string(trial.seed));
    seeds.insert(resolve(own, trial).options.at("seed"));
  }
  EXPECT_EQ(seeds.size(), 60U);

  const Plan layouts = good_plan(
      with_szc + "[factor.layout]\nrandom = { seeds = 3, runs = 4 }\n[design]\nkind = 'nested'\n");
  std::map<std::string, int> runs;
  for (const Trial& trial : expand(layouts).trials) {
    EXPECT_EQ(resolve(layouts, trial).options.at("seed"), trial.levels.at(0).name);
    ++runs[trial.levels.at(0).name];
  }
  ASSERT_EQ(runs.size(), 3U);
  for (const auto& [seed, count] : runs) EXPECT_EQ(count, 4);
}

TEST(PlanOptions, ATrialMustHaveWhatThePlanSetsAndNothingElse) {
  const auto needs = [](const std::string& lines) {
    const Plan plan = good_plan(with_szc + lines);
    std::set<Needs> all;
    for (const Trial& trial : expand(plan).trials) all.insert(resolve(plan, trial).needs);
    return all;
  };
  EXPECT_THAT(needs(""), ElementsAre(Needs::nothing));
  EXPECT_THAT(needs("[randomize]\ncode = false\n"), ElementsAre(Needs::nothing));
  EXPECT_THAT(needs("[randomize]\ncode = false\nheap = true\n"), ElementsAre(Needs::randomized));
  EXPECT_THAT(needs("[randomize]\ncode = false\nallocator = 'tlsf'\n"),
              ElementsAre(Needs::randomized));
  EXPECT_THAT(needs("[randomize]\ncode = true\n"), ElementsAre(Needs::randomized));
  EXPECT_THAT(needs(code + "[randomize]\nheap = false\n"),
              ElementsAre(Needs::runtime, Needs::randomized));
  EXPECT_THAT(needs("[factor.layout]\nrandom = { per = 'block' }\n"),
              ElementsAre(Needs::randomized));
}

TEST(PlanOptions, SayWhetherFunctionsMoveAgain) {
  const auto move = [](const std::string& lines) {
    const Plan plan = good_plan(with_szc + lines);
    const Expansion expansion = expand(plan);
    return moves_functions_again(resolve(plan, *expansion.trials.begin()).options);
  };
  EXPECT_TRUE(move(""));
  EXPECT_TRUE(move("[randomize]\nrerandomize = 'repeated'\n"));
  EXPECT_FALSE(move("[randomize]\nrerandomize = 'once'\n"));
  EXPECT_FALSE(move("[randomize]\ncode = false\nstack = true\n"));
  EXPECT_FALSE(move("[factor.layout]\nrandom = { per = 'block' }\n"));
  EXPECT_FALSE(
      move("[measure]\nsimulate = true\n"
           "[analysis]\nresponse = 'simulated-instructions'\n"));
}

TEST(PlanOptions, HaveOneNameForOneValue) {
  EXPECT_EQ(problems("[factor.period]\nlevels = ['500ms', '0.5s']\n"),
            "p:10:20: 'factor.period.levels' has the level 500ms twice: remove one\n");
  const std::string rule =
      "must be a duration of whole milliseconds from \"1ms\" to \"1h\", for example \"500ms\", "
      "not ";
  EXPECT_EQ(problems("[randomize]\nperiod = '999us'\n"),
            "p:10:1: 'randomize.period' " + rule + "\"999us\"\n");
  for (const char* share : {"0%", "101%", "1", "1.5%", "-1%", "%", "none", ""})
    EXPECT_THAT(problems(std::string("[randomize]\nbudget = '") + share + "'\n"),
                HasSubstr("'randomize.budget' must be \"off\" or whole percent from \"1%\""));
  EXPECT_THAT(problems("[randomize]\nrerandomize = 'once'\nbudget = '2%'\n"),
              HasSubstr("'randomize.budget' has no effect without rerandomize = \"repeated\""));
  EXPECT_EQ(problems("[factor.period]\nlevels = ['1ms', '61min', 5]\n"),
            "p:10:18: each item of 'factor.period.levels' " + rule + "\"61min\"\n" +
                "p:10:27: each item of 'factor.period.levels' " + rule + "5\n");
  EXPECT_EQ(problems("[randomize]\nrerandomize = 'twice'\ncode = 1\n"),
            "p:10:1: 'randomize.rerandomize' must be \"once\" or \"repeated\", not \"twice\"\n"
            "p:11:1: 'randomize.code' must be true or false, not 1\n");
  EXPECT_EQ(problems("[factor.rerandomize]\nrandom = { per = 'block' }\n"),
            "p:10:1: 'factor.rerandomize.random' is not possible: use levels\n");
}

TEST(PlanOptions, AreGivenOnceAndSpelledRight) {
  EXPECT_EQ(problems(code + "[randomize]\ncode = true\n"),
            "p:12:1: 'code' is set in [randomize] and is also a factor: remove 'randomize.code', "
            "or [factor.code]\n");
  EXPECT_EQ(problems("[randomize]\nperod = '1s'\n"),
            "p:10:1: unknown key 'randomize.perod', did you mean 'period'?\n");
  EXPECT_EQ(problems_of(with_szc + "env = { STABILIZER_OPTIONS = 'code=0' }\n"),
            "p:9:9: 'benchmark.env.STABILIZER_OPTIONS' is set by stabd itself: use [randomize]\n");
}

TEST(PlanOptions, ThatDoNothingAreRefused) {
  EXPECT_EQ(problems("[randomize]\ncode = false\nrerandomize = 'once'\n"),
            "p:11:1: 'randomize.rerandomize' has no effect without code = true\n");
  EXPECT_EQ(problems("[randomize]\nrerandomize = 'once'\nperiod = '1s'\n"),
            "p:11:1: 'randomize.period' has no effect without rerandomize = \"repeated\" and code "
            "= true\n");
  EXPECT_EQ(problems("[randomize]\ncode = false\nheap = true\n"
                     "[factor.layout]\nrandom = { per = 'block' }\n"),
            "");
  EXPECT_EQ(problems("[randomize]\ncode = false\nheap = false\n"
                     "[factor.layout]\nrandom = { per = 'block' }\n"),
            "p:12:9: the factor 'layout' has no effect without code = true\n");
  EXPECT_EQ(problems("[randomize]\nheap = false\nallocator = 'tlsf'\n"),
            "p:11:1: 'randomize.allocator' has no effect without heap = true\n");
  EXPECT_THAT(
      problems("[randomize]\nrerandomize = 'once'\n[factor.period]\nlevels = ['1s', '2s']\n"),
      HasSubstr("p:11:9: the cells (period = 1000ms) and (period = 2000ms) are equivalent"));
  EXPECT_THAT(
      problems(code + "[factor.layout]\nrandom = { seeds = 2, runs = 2 }\n"
                      "[design]\nkind = 'nested'\n[randomize]\nheap = false\n"),
      HasSubstr("p:11:9: in cells without a random layout, the factor 'layout' has no effect"));
}

TEST(PlanOptions, CellsThatRunTheSameAreRefused) {
  EXPECT_EQ(
      problems(code + when),
      "p:9:9: the cells (code = false, rerandomize = once) and (code = false, rerandomize = "
      "repeated) are equivalent: set design.kind = \"custom\", and list the cells that you want\n");
  const std::string custom = code + when + "[design]\nkind = 'custom'\ncells = [\n";
  EXPECT_EQ(problems(custom + "{ code = 'false', rerandomize = 'once' },\n"
                              "{ code = 'true', rerandomize = 'once' },\n"
                              "{ code = 'true', rerandomize = 'repeated' }]\n"),
            "");
  EXPECT_EQ(problems(custom + "{ code = 'false', rerandomize = 'once' },\n"
                              "{ code = 'false', rerandomize = 'repeated' },\n"
                              "{ code = 'true', rerandomize = 'repeated' }]\n"),
            "p:17:1: this cell is equivalent to (code = false, rerandomize = once): remove one of "
            "them\n");
}

TEST(PlanOptions, NeedACompilerThatKnowsThem) {
  const std::string hint =
      " needs programs built by szc, but the build of 'b' uses another compiler: set CC = \"szc\" "
      "and CXX = \"szc++\" in [variables]\n";
  const std::string plain = smallest.substr(0, smallest.find("run")) +
                            "build = '${CC} -o ${OUT} b.c ${LDFLAGS}'\nrun = ['${OUT}']\n";
  EXPECT_EQ(problems_of(plain + code), "p:7:9: the factor 'code'" + hint);
  EXPECT_EQ(problems_of(plain + "[randomize]\ncode = true\n"), "p:8:1: 'randomize.code'" + hint);
  // One level that can is enough to try.
  EXPECT_EQ(problems_of(plain + code +
                        "[factor.compiler]\nlevels = { a = { CC = 'clang' }, b = { CC = "
                        "'/opt/szc' } }\n"),
            "");
  // A program that is there already, or a makefile, may be built by szc.
  EXPECT_EQ(problems_of(smallest + code), "");
  EXPECT_EQ(problems_of(smallest.substr(0, smallest.find("run")) +
                        "build = 'make OUT=${OUT}'\nrun = ['${OUT}']\n" + code),
            "");
}

TEST(PlanOptions, SzcIsFoundInCommandsAsAWord) {
  for (const char* command : {"szc x.c", "CC=szc make", "CC='szc' ./configure",
                              "/opt/bin/szc++ x.cc", "ccache szc++", "make CXX=\"szc++\""})
    EXPECT_TRUE(names_szc(command)) << command;
  for (const char* command :
       {"", "clang x.c", "cc szc.c", "my-szc x.c", "/opt/szc/bin/clang", "szc+"})
    EXPECT_FALSE(names_szc(command)) << command;
}

TEST(PlanOptions, LinkFactorsSpeakToSzcByItsOwnFlags) {
  const std::string both =
      "[factor.link_order]\nlevels = [5]\n[factor.link_padding]\nlevels = [6]\n";
  const Plan plan = good_plan(with_szc + both);
  EXPECT_EQ(resolve(plan, expand(plan).trials.at(0)).build,
            "szc  -o ${OUT} b.c  --stab-link-order=5 --stab-link-padding=6");
  // lld 22 pads what other compilers link; a makefile may find szc by itself.
  const std::string padding = "run = ['${OUT}']\n[factor.link_padding]\nlevels = [6]\n";
  const auto built = [&](const std::string& command) {
    const Plan other = good_plan(smallest.substr(0, smallest.find("run")) + "build = '" + command +
                                 " ${LDFLAGS}'\n" + padding);
    return resolve(other, expand(other).trials.at(0)).build;
  };
  const std::string by_lld =
      "  -ffunction-sections -fdata-sections -fuse-ld=lld -B/usr/lib/llvm-22/bin "
      "-Wl,--randomize-section-padding=6";
  for (const std::string command :
       {"gcc -o ${OUT} b.c", "/usr/bin/x86_64-linux-gnu-g++-12 -o ${OUT} b.c",
        "clang++-22 -o ${OUT} b.c", "make CC=cc OUT=${OUT} F="})
    EXPECT_EQ(built(command), command + by_lld);
  for (const std::string command :
       {"make OUT=${OUT} F=", "make CC=szc -o ${OUT} gcc.c",
        "make CXXFLAGS=-std=c++20 OUT=${OUT} F=", "sh tools/gcc/build.sh -x c++ ${OUT} F="})
    EXPECT_EQ(built(command), command + "  --stab-link-padding=6");
  EXPECT_EQ(
      problems("[factor.link_padding]\nlevels = [0]\n"),
      "p:10:11: each item of 'factor.link_padding.levels' must be a seed, a whole number from "
      "1 to 2147483647, not 0\n");
}

TEST(PlanOptions, LinkPaddingActsThroughTheLinkersFlags) {
  const std::string text = smallest.substr(0, smallest.find("run")) +
                           "build = 'szc -o ${OUT} b.c'\nrun = ['${OUT}']\n"
                           "[factor.link_padding]\nrandom = { per = 'block' }\n";
  EXPECT_EQ(problems_of(text),
            "p:5:1: the factor 'link_padding' acts through ${LDFLAGS}, which the benchmark 'b' "
            "does not use: add ${LDFLAGS} to the link command in benchmark.build\n");
}

TEST(PlanOptions, ActingOnesAreThoseThatMakeADifference) {
  EXPECT_THAT(acting({{"code", "0"}, {"heap", "0"}, {"period", "1ms"}, {"seed", "7"}}),
              ElementsAre(Pair("code", "0"), Pair("heap", "0")));
  EXPECT_THAT(
      acting(
          {{"code", "0"}, {"heap", "1"}, {"allocator", "tlsf"}, {"period", "1ms"}, {"seed", "7"}}),
      ElementsAre(Pair("allocator", "tlsf"), Pair("code", "0"), Pair("heap", "1"),
                  Pair("seed", "7")));
  EXPECT_THAT(acting({{"rerandomize", "once"}, {"period", "1ms"}, {"seed", "7"}}),
              ElementsAre(Pair("rerandomize", "once"), Pair("seed", "7")));
  EXPECT_THAT(acting({}), IsEmpty());
  EXPECT_TRUE(randomizes({}));
  EXPECT_FALSE(randomizes({{"code", "0"}, {"heap", "0"}}));
  EXPECT_FALSE(randomizes(plain_options()));
  EXPECT_EQ(wants_heap(plain_options()), std::nullopt) << "no library is loaded";
}

}  // namespace
}  // namespace stab::plan
