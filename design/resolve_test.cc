// SPDX-License-Identifier: MIT
#include "design/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "base/fd.h"
#include "base/text.h"
#include "design/trial_list.h"
#include "plan/reading/testing.h"
#include "plan/texts.h"

namespace stab::plan {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

const char* const text = R"(
[experiment]
name = "t"
[variables]
CC = "cc"
CFLAGS = "-O0"
LDFLAGS = "-lm"
DEPTH = "5"
INCLUDE = "-I${SRC}/include"
[defaults]
repetitions = 2
[[benchmark]]
name = "b"
build = "${CC} ${INCLUDE} ${CFLAGS} -o ${OUT} ${SRC}/b.c ${LDFLAGS} # $${HOME} $$"
run = ["${OUT}", "${DEPTH}", "${MODE}", "$${x}"]
env = { MODE = "${MODE}", HOME = "${DIR}" }
stdin = "in-${DEPTH}.txt"
[factor.opt]
levels = { O2 = { CFLAGS = "-O2" }, O3 = { CFLAGS = "-O3" } }
[factor.mode]
levels = { fast = { MODE = "f" }, slow = { MODE = "s" } }
[factor.aslr]
levels = [false, true]
[factor.env_bytes]
levels = [0, 64]
)";

TEST(Resolve, FramesHavePadsByDefaultInProgramsThatSzcBuilds) {
  const std::string more = "[variables]\nCC = 'szc'\n";
  std::string build = with_build;
  build.replace(build.find("cc "), 3, "${CC} ");
  const auto task_of = [](const std::string& text) {
    const Plan plan = good_plan(text);
    return resolve(plan, expand(plan).trials[0]);
  };
  EXPECT_FALSE(task_of(build + more).options.contains("stack"));
  const std::string by_default = "[by_default]\nstack = true\n";
  const Task padded = task_of(build + more + by_default);
  EXPECT_EQ(padded.options.at("stack"), "1");
  EXPECT_THAT(padded.by_default, ElementsAre("stack"));
  EXPECT_EQ(padded.needs, Needs::nothing);
  EXPECT_FALSE(task_of(build + by_default).options.contains("stack"));
  const Task given = task_of(build + more + by_default + "[randomize]\nstack = true\n");
  EXPECT_EQ(given.options.at("stack"), "1");
  EXPECT_THAT(given.by_default, ElementsAre());
}

TEST(Resolve, ABenchmarkWithTheHeapLayerHasItInEachTrialUnlessThePlanSaysOtherwise) {
  const auto task_of = [](const std::string& more) {
    Plan plan = good_plan(with_build + more);
    plan.benchmarks[0].has_layer = true;
    return resolve(plan, expand(plan).trials[0]);
  };
  const Task layered = task_of("");
  EXPECT_EQ(layered.options.at("heap"), "1");
  EXPECT_EQ(layered.options.at("allocator"), "layer");
  EXPECT_THAT(layered.by_default, ElementsAre("heap", "allocator"));
  EXPECT_EQ(layered.needs, Needs::nothing);
  EXPECT_EQ(task_of("[randomize]\nheap = false\n").options.at("heap"), "0");
  const Task shuffled = task_of("[randomize]\nheap = true\n");
  EXPECT_THAT(shuffled.by_default, ElementsAre());
  EXPECT_FALSE(shuffled.options.contains("allocator"));
}

TEST(Resolve, APlainTrialHasNothingRandomAndNoLibraryForTheHeap) {
  const Plan plan =
      good_plan(smallest +
                "[factor.env_bytes]\nlevels = [0, 64]\n[randomize]\nheap = true\nallocator = "
                "'layer'\nstack = true\nrerandomize = 'repeated'\n[analysis]\ncost = true\n");
  int plain = 0;
  for (const Trial& trial : expand(plan).trials) {
    const Task task = resolve(plan, trial);
    EXPECT_EQ(task.options.at("seed"), std::to_string(trial.seed));
    EXPECT_EQ(task.options.contains("heap"), !trial.plain);
    EXPECT_EQ(task.needs, trial.plain ? Needs::nothing : Needs::randomized);
    if (!trial.plain) continue;
    ++plain;
    EXPECT_EQ(task.env_bytes, 0U) << "the first cell's";
    EXPECT_THAT(task.options,
                UnorderedElementsAre(Pair("code", "0"), Pair("stack", "0"), Pair("seed", _)));
  }
  EXPECT_EQ(plain, 6) << "of 30 blocks";
}

const std::string link_order = "[factor.link_order]\nlevels = [5, 6]\n";

std::string level(const Trial& trial, const Plan& plan, std::string_view factor) {
  const auto found = std::ranges::find(plan.factors, factor, &Factor::name);
  return trial.levels.at(static_cast<std::size_t>(found - plan.factors.begin())).name;
}

Trial trial_with(const Plan& plan, const std::map<std::string, std::string>& levels) {
  for (const Trial& trial : expand(plan).trials)
    if (std::ranges::all_of(levels, [&](const auto& each) {
          return level(trial, plan, each.first) == each.second;
        }))
      return trial;
  ADD_FAILURE() << "no such trial";
  return {};
}

TEST(Resolve, LevelsComeBeforeThePlansVariables) {
  const Plan plan = good_plan(text);
  const Task task = resolve(plan, trial_with(plan, {{"opt", "O3"}, {"mode", "slow"}}));
  EXPECT_EQ(task.build, "cc -I${SRC}/include -O3 -o ${OUT} ${SRC}/b.c -lm # $${HOME} $$");
  EXPECT_THAT(task.run, ElementsAre("${OUT}", "5", "s", "$${x}"));
  EXPECT_THAT(task.env, UnorderedElementsAre(Pair("MODE", "s"), Pair("HOME", "${DIR}")));
  EXPECT_EQ(task.stdin_file, "in-5.txt");
}

TEST(Resolve, TheWorkersSubstitutionFinishesTheText) {
  const Plan plan = good_plan(text);
  const Task task = resolve(plan, trial_with(plan, {{"opt", "O2"}}));
  EXPECT_EQ(substitute(task.build, {{"OUT", "/o"}, {"DIR", "/d"}, {"SRC", "/s"}}),
            "cc -I/s/include -O2 -o /o /s/b.c -lm # ${HOME} $");
}

TEST(Resolve, BuiltInFactorsSetTheTask) {
  const Plan plan = good_plan(text);
  const Task on = resolve(plan, trial_with(plan, {{"aslr", "true"}, {"env_bytes", "64"}}));
  EXPECT_TRUE(on.aslr);
  EXPECT_EQ(on.env_bytes, 64U);
  const Task off = resolve(plan, trial_with(plan, {{"aslr", "false"}, {"env_bytes", "0"}}));
  EXPECT_FALSE(off.aslr);
  EXPECT_EQ(off.env_bytes, 0U);
}

TEST(Resolve, WithoutTheFactorTheMachinesAslrHolds) {
  const Plan plan = good_plan(smallest + "[machine]\naslr = true\n");
  const Task task = resolve(plan, expand(plan).trials.at(0));
  EXPECT_TRUE(task.aslr);
  EXPECT_EQ(task.build, "");
  EXPECT_EQ(task.stdin_file, std::nullopt);
}

TEST(Resolve, LinkOrderAppendsToTheLinkersFlags) {
  const Plan plan = good_plan(text + link_order);
  const Task task = resolve(plan, trial_with(plan, {{"opt", "O2"}, {"link_order", "6"}}));
  EXPECT_EQ(task.build,
            "cc -I${SRC}/include -O2 -o ${OUT} ${SRC}/b.c -lm -ffunction-sections -fdata-sections "
            "-fuse-ld=lld -Wl,--shuffle-sections='.text*=6' -Wl,--shuffle-sections='.rodata*=6' "
            "-Wl,--shuffle-sections='.data*=6' -Wl,--shuffle-sections='.bss*=6' "
            "-Wl,--no-call-graph-profile-sort # $${HOME} $$");
}

TEST(Resolve, TrialsThatDifferOnlyInHowTheyRunShareABuild) {
  const Plan plan = good_plan(text + link_order);
  std::map<std::pair<std::string, std::string>, std::set<std::string>> builds;
  std::set<std::string> all;
  for (const Trial& trial : expand(plan).trials) {
    const std::string build = resolve(plan, trial).build;
    builds[{level(trial, plan, "opt"), level(trial, plan, "link_order")}].insert(build);
    all.insert(build);
  }
  EXPECT_EQ(builds.size(), 4U);
  for (const auto& [levels, texts] : builds) EXPECT_EQ(texts.size(), 1U);
  EXPECT_EQ(all.size(), 4U);
}

TEST(ActsOnBuild, OnlyWhatTheBuildUses) {
  const Plan plan = good_plan(text + link_order);
  std::map<std::string, bool> acts;
  for (const Factor& factor : plan.factors)
    acts[factor.name] = acts_on_build(plan.benchmarks[0], factor);
  EXPECT_THAT(acts,
              UnorderedElementsAre(Pair("opt", true), Pair("mode", false), Pair("aslr", false),
                                   Pair("env_bytes", false), Pair("link_order", true)));
  const Plan other = good_plan(smallest + "[factor.aslr]\nlevels = [false, true]\n");
  EXPECT_FALSE(acts_on_build(other.benchmarks[0], other.factors[0]));
}

TEST(ActsOnRun, WhateverTrialsUse) {
  const Plan plan = good_plan(text + link_order);
  std::map<std::string, bool> acts;
  for (const Factor& factor : plan.factors)
    acts[factor.name] = acts_on_run(plan.benchmarks[0], factor);
  EXPECT_THAT(acts,
              UnorderedElementsAre(Pair("opt", false), Pair("mode", true), Pair("aslr", false),
                                   Pair("env_bytes", false), Pair("link_order", false)));
  const std::string both =
      "[experiment]\nname = 't'\n[[benchmark]]\nname = 'b'\nbuild = 'cc ${MODE} -o ${OUT}'\n";
  const std::string mode = "[factor.mode]\nlevels = { a = { MODE = '1' }, b = { MODE = '2' } }\n";
  for (const char* run :
       {"run = ['${OUT}', '${MODE}']\n", "run = ['${OUT}']\nenv = { M = '${MODE}' }\n",
        "run = ['${OUT}']\nstdin = '${MODE}.in'\n", "run = ['${OUT}']\nprepare = 'x ${MODE}'\n",
        "run = ['${OUT}']\ncleanup = 'x ${MODE}'\n"}) {
    const Plan used = good_plan(both + run + mode);
    EXPECT_TRUE(acts_on_run(used.benchmarks[0], used.factors[0])) << run;
  }
}

TEST(UsesTree, DirectlyOrThroughAVariable) {
  const std::string start =
      "[experiment]\nname = 't'\n[[benchmark]]\nname = 'b'\nbuild = 'make ${OUT} ${INPUT}'\n";
  const std::string variable = "[variables]\nINPUT = '${DIR}/data.txt'\n";
  const std::string factor =
      "[factor.input]\nlevels = { a = { INPUT = '${DIR}/a.in' }, b = { INPUT = '/b.in' } }\n";
  const auto uses = [&](const std::string& rest) {
    const Plan plan = good_plan(start + rest);
    return uses_tree(plan, plan.benchmarks[0]);
  };
  EXPECT_FALSE(uses("run = ['${OUT}']\n" + variable)) << "only the build uses it";
  EXPECT_TRUE(uses("run = ['${OUT}', '${DIR}/data.txt']\n" + variable));
  EXPECT_TRUE(uses("run = ['${OUT}', '${INPUT}']\n" + variable));
  EXPECT_TRUE(uses("run = ['${OUT}']\nstdin = '${INPUT}'\n" + variable));
  EXPECT_TRUE(uses("run = ['${OUT}']\nenv = { IN = '${INPUT}' }\n" + variable));
  EXPECT_TRUE(uses("run = ['${OUT}', '${INPUT}']\n" + factor));
  EXPECT_FALSE(uses("run = ['${OUT}']\n" + factor));
  const std::string causal = "run = ['${OUT}']\n" + variable + "[design]\nkind = 'causal'\n";
  EXPECT_TRUE(uses(causal + "[causal]\nbinary = ['${DIR}/lib.so']\n"));
  EXPECT_FALSE(uses(causal + "[causal]\nbinary = ['${OUT}']\n"));
}

// Prints its functions, its data and its constants in the order of their addresses.
const char* const program = R"(
#include <stdio.h>
#include <stdlib.h>
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define FUNCTION(i) int f##i(void) { return i; }
#define DATA(i) int d##i = i + 1; int z##i; const int c##i = i;
EACH(FUNCTION) EACH(DATA)
struct named { const void *at; char kind, number; };
static int compare(const void *a, const void *b) {
  const char *x = ((const struct named *)a)->at, *y = ((const struct named *)b)->at;
  return x < y ? -1 : x > y;
}
#define NAMED(i) {(const void *)f##i, 'f', '0' + i}, {&d##i, 'd', '0' + i}, {&z##i, 'z', '0' + i}, {&c##i, 'c', '0' + i},
int main(void) {
  struct named all[] = { EACH(NAMED) };
  qsort(all, sizeof all / sizeof *all, sizeof *all, compare);
  for (const char *kind = "fdzc"; *kind; ++kind) {
    for (unsigned i = 0; i < sizeof all / sizeof *all; ++i)
      if (all[i].kind == *kind) putchar(all[i].number);
    putchar('\n');
  }
}
)";

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "popen failed";
  std::array<char, 256> buffer;
  while (fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
  return pclose(pipe) == 0 ? output : "failed: " + command + "\n" + output;
}

class LinkOrder : public testing::Test {
 protected:
  // The orders of functions, data, zeroed data and constants under this seed.
  std::string orders(const std::string& seed) const {
    const Trial trial = trial_with(plan_, {{"link_order", seed}});
    const Variables own{{"OUT", directory_ + "/prog"}, {"SRC", directory_}, {"DIR", directory_}};
    return output_of(substitute(resolve(plan_, trial).build, own) + " && " + directory_ + "/prog");
  }

  void SetUp() override {
    directory_ = testing::TempDir() + "link_order_XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    ASSERT_TRUE(write_file_atomically(directory_ + "/b.c", program));
  }

  void TearDown() override { (void)output_of("rm -r " + shell_quote(directory_)); }

  std::string directory_;
  const Plan plan_ = good_plan(
      "[experiment]\nname = 't'\n[[benchmark]]\nname = 'b'\nrun = ['${OUT}']\n"
      "build = '${CC} ${CFLAGS} -o ${OUT} ${SRC}/b.c ${LDFLAGS}'\n"
      "[factor.link_order]\nlevels = [1, 2]\n");
};

TEST_F(LinkOrder, TheSeedMovesFunctionsDataAndConstants) {
  const std::string one = orders("1");
  const std::string two = orders("2");
  EXPECT_EQ(one, orders("1"));
  ASSERT_EQ(one.size(), 4U * 9) << one;
  ASSERT_EQ(two.size(), 4U * 9) << two;
  for (std::size_t kind = 0; kind < 4; ++kind) {
    EXPECT_NE(one.substr(kind * 9, 8), two.substr(kind * 9, 8));
    EXPECT_NE(one.substr(kind * 9, 8), "01234567");
  }
}

}  // namespace
}  // namespace stab::plan
