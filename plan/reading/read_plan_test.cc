// SPDX-License-Identifier: MIT
#include "plan/reading/read_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "plan/reading/key_list.h"
#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

const char* const everything = R"(
[experiment]
name = "o3-versus-o2"
seed = 9223372036854775807
question = "does -O3 help?"

[variables]
CC = "clang"
N = "200"

[defaults]
repetitions = 12
timeout = "1.5s"
build_timeout = "2min"
output_limit = "1MiB"
warmup = 2
retries = 3
give_up_after = 0
on_build_failure = "fail-experiment"

[[benchmark]]
name = "sort"
build = "${CC} ${CFLAGS} -o ${OUT} sort.c ${LDFLAGS}"
run = ["${OUT}", "${N}"]
env = { LANG = "C", HOME = "${DIR}" }
stdin = "data/in.txt"
sources = ["sort.c", "sort.h"]
check = { exit = 3, stdout_sha256 = "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", stdout_file = "out.txt", command = "grep -q x" }

[[benchmark]]
name = "hash"
build = "make ${OUT} CFLAGS='${CFLAGS}' LDFLAGS=\"${LDFLAGS}\""
run = ["${OUT}"]
repetitions = 5
timeout = "24h"
build_timeout = "1h"
output_limit = 4096
check.stdout_file = "hash.out"

[factor.opt]
levels = { O3 = { CFLAGS = "-O3" }, O2 = { CFLAGS = "-O2" } }

[factor.aslr]
levels = [true, false]

[factor.env_bytes]
random = { per = "block", min = 16, max = 1000 }

[factor.link_order]
random = { per = "block" }

[design]
kind = "custom"
order = "randomized-blocks"
cells = [ { opt = "O2", aslr = "true" }, { opt = "O3", aslr = false } ]

[measure]
counters = []
on_absent = "refuse"

[machine]
cpus = 2
quiesce = "best-effort"
knobs = ["swappiness", "governor"]
wait_for_quiet = "2min"
quiet_load = "10%"
quiet_temperature_c = 60
quiet_frequency_khz = 2e6
aslr = true

[analysis]
response = "cpu"
log = false
alpha = 0.01
equivalence = "2.5%"
)";

TEST(ReadPlan, ReadsTheExperimentAndItsDefaults) {
  const Plan plan = good_plan(everything);
  EXPECT_EQ(plan.name, "o3-versus-o2");
  EXPECT_EQ(plan.seed, 9223372036854775807U);
  EXPECT_EQ(plan.question, "does -O3 help?");
  EXPECT_EQ(plan.warmup, 2U);
  EXPECT_EQ(plan.retries, 3U);
  EXPECT_EQ(plan.give_up_after, 0U);
  EXPECT_EQ(plan.on_build_failure, OnBuildFailure::fail_experiment);
  EXPECT_EQ(plan.cpus, 2U);
  EXPECT_TRUE(plan.aslr);
  EXPECT_EQ(plan.quiesce, Quiesce::best_effort);
  EXPECT_THAT(plan.knobs, ElementsAre("swappiness", "governor"));
  ASSERT_TRUE(plan.wait_for_quiet);
  EXPECT_EQ(plan.wait_for_quiet->most, std::chrono::minutes(2));
  EXPECT_EQ(plan.wait_for_quiet->load, 0.1);
  EXPECT_EQ(plan.wait_for_quiet->temperature_c, 60);
  EXPECT_EQ(plan.wait_for_quiet->frequency_khz, 2e6);
  EXPECT_THAT(plan.variables, UnorderedElementsAre(Pair("CC", "clang"), Pair("CXX", "clang++-19"),
                                                   Pair("CFLAGS", ""), Pair("CXXFLAGS", ""),
                                                   Pair("LDFLAGS", ""), Pair("N", "200")));
}

TEST(ReadPlan, ReadsBenchmarks) {
  const Plan plan = good_plan(everything);
  ASSERT_EQ(plan.benchmarks.size(), 2U);
  const Benchmark& sort = plan.benchmarks[0];
  EXPECT_EQ(sort.name, "sort");
  EXPECT_EQ(sort.build, "${CC} ${CFLAGS} -o ${OUT} sort.c ${LDFLAGS}");
  EXPECT_THAT(sort.run, ElementsAre("${OUT}", "${N}"));
  EXPECT_THAT(sort.env, UnorderedElementsAre(Pair("LANG", "C"), Pair("HOME", "${DIR}")));
  EXPECT_EQ(sort.stdin_file, "data/in.txt");
  EXPECT_THAT(sort.sources, ElementsAre("sort.c", "sort.h"));
  EXPECT_EQ(sort.check.exit, 3);
  EXPECT_EQ(sort.check.stdout_sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sort.check.stdout_file, "out.txt");
  EXPECT_EQ(sort.check.command, "grep -q x");
}

TEST(ReadPlan, ABenchmarkOverridesTheDefaults) {
  const Plan plan = good_plan(everything);
  const Benchmark& sort = plan.benchmarks.at(0);
  EXPECT_EQ(sort.repetitions, 12U);
  EXPECT_EQ(sort.timeout, 1500ms);
  EXPECT_EQ(sort.build_timeout, 2min);
  EXPECT_EQ(sort.output_limit, std::uint64_t{1} << 20);
  const Benchmark& hash = plan.benchmarks.at(1);
  EXPECT_EQ(hash.repetitions, 5U);
  EXPECT_EQ(hash.timeout, 24h);
  EXPECT_EQ(hash.build_timeout, 1h);
  EXPECT_EQ(hash.output_limit, 4096U);
  EXPECT_EQ(hash.check.stdout_file, "hash.out");
}

TEST(ReadPlan, ReadsFactorsAndLevelsInTheOrderOfTheText) {
  const Plan plan = good_plan(everything);
  ASSERT_EQ(plan.factors.size(), 4U);
  const auto& opt = std::get<FixedLevels>(plan.factors[0].levels).levels;
  EXPECT_EQ(plan.factors[0].name, "opt");
  EXPECT_TRUE(plan.factors[0].is_treatment());
  EXPECT_EQ(opt.at(0).name, "O3");
  EXPECT_EQ(opt.at(1).name, "O2");
  EXPECT_THAT(opt.at(1).variables, ElementsAre(Pair("CFLAGS", "-O2")));
  const auto& aslr = std::get<FixedLevels>(plan.factors[1].levels).levels;
  EXPECT_EQ(plan.factors[1].kind, FactorKind::aslr);
  EXPECT_EQ(aslr.at(0).name, "true");
  EXPECT_EQ(aslr.at(0).number, 1U);
  const auto& bytes = std::get<RandomPerBlock>(plan.factors[2].levels);
  EXPECT_EQ(plan.factors[2].kind, FactorKind::env_bytes);
  EXPECT_EQ(bytes.minimum, 16U);
  EXPECT_EQ(bytes.maximum, 1000U);
  const auto& seeds = std::get<RandomPerBlock>(plan.factors[3].levels);
  EXPECT_EQ(plan.factors[3].kind, FactorKind::link_order);
  EXPECT_EQ(seeds.minimum, 1U);
  EXPECT_EQ(seeds.maximum, 2147483647U);
}

TEST(ReadPlan, ReadsDesignAndAnalysis) {
  const Plan plan = good_plan(everything);
  EXPECT_EQ(plan.design.kind, DesignKind::custom);
  ASSERT_EQ(plan.design.cells.size(), 2U);
  EXPECT_THAT(plan.design.cells[1], ElementsAre(Pair("aslr", "false"), Pair("opt", "O3")));
  EXPECT_EQ(plan.analysis.response, "cpu");
  EXPECT_FALSE(plan.analysis.log_scale);
  EXPECT_EQ(plan.analysis.alpha, 0.01);
  EXPECT_EQ(plan.analysis.equivalence, 0.025);
}

TEST(ReadPlan, TheSmallestPlanGetsTheDefaults) {
  const Plan plan = good_plan(smallest);
  EXPECT_EQ(plan.seed, 1U);
  EXPECT_EQ(plan.design.kind, DesignKind::full_factorial);
  EXPECT_EQ(plan.benchmarks.at(0).repetitions, 30U);
  EXPECT_EQ(plan.benchmarks.at(0).timeout, 60s);
  EXPECT_EQ(plan.benchmarks.at(0).output_limit, std::uint64_t{16} << 20);
  EXPECT_TRUE(plan.factors.empty());
  EXPECT_EQ(plan.analysis.equivalence, std::nullopt);
}

TEST(ReadPlan, RefusesAnEmptyPlan) {
  for (const char* text : {"", "\n \n", "# only a comment\n"})
    EXPECT_EQ(
        problems_of(text),
        "p: the plan is empty: it needs at least [experiment] with a name and one [[benchmark]]\n");
}

TEST(ReadPlan, RefusesAPlanThatIsTooLarge) {
  EXPECT_EQ(
      problems_of(std::string(max_plan_bytes + 1, '#')),
      "p: the plan has 1048577 bytes, but stabd reads at most 1048576: is this the right file?\n");
}

TEST(ReadPlan, PassesOnWhereTheSyntaxIsWrong) {
  EXPECT_EQ(
      problems_of("[experiment]\nname = \"x\n"),
      "p:2:10: this is not valid TOML: Error while parsing string: unescaped control characters "
      "other than TAB (U+0009) are explicitly prohibited\n");
}

TEST(ReadPlan, ReportsAllProblemsInTheOrderOfTheirPlaces) {
  EXPECT_EQ(
      problems_of("[analysis]\nalfa = 0.1\n[experiment]\nseed = -1\n[[benchmark]]\nrun = []\n"),
      "p:2:1: unknown key 'analysis.alfa', did you mean 'alpha'?\n"
      "p:3:1: 'experiment.name' is missing: add a text of 1 to 100 printable characters\n"
      "p:4:1: 'experiment.seed' must be a whole number from 0 to 9223372036854775807, not -1\n"
      "p:5:1: 'benchmark.name' is missing: add 1 to 64 of the characters A-Z a-z 0-9 . _ + -\n"
      "p:6:1: 'benchmark.run' must start with the program to run\n");
}

TEST(ReadPlan, CountsTheProblemsThatItDoesNotList) {
  std::string text = smallest;
  for (int i = 0; i < 60; ++i) text += "xyzzy" + std::to_string(i) + " = 1\n";
  const auto plan = read_plan(text);
  ASSERT_FALSE(plan);
  ASSERT_EQ(plan.error().size(), toml::max_problems + 1);
  EXPECT_EQ(plan.error().back().message, "and 10 more problems");
  EXPECT_EQ(plan.error().back().line, 0U);
}

TEST(ReadPlan, AMegabyteOfGarbageIsRefused) {
  Random random(5);
  std::string bytes(max_plan_bytes, ' ');
  for (char& c : bytes) c = static_cast<char>(random.below(256));
  EXPECT_NE(problems_of(bytes), "");
  std::string keys;
  for (int i = 0; keys.size() < max_plan_bytes - 20; ++i) keys += "k" + std::to_string(i) + "=1\n";
  EXPECT_THAT(problems_of(keys), testing::HasSubstr("more problems"));
  std::string tables;
  while (tables.size() < max_plan_bytes - 20) tables += "[[benchmark]]\n";
  EXPECT_THAT(problems_of(tables), testing::HasSubstr("a plan must have 1 to 1000 benchmarks"));
}

TEST(ReadPlan, MessagesHoldNoControlCharacters) {
  EXPECT_EQ(
      problems_of(smallest + "[variables]\n\"\\u001b[31m\\u0000\" = 'x'\n[defaults]\ntimeout = "
                             "\"\\n\\u0007\"\n"),
      "p:7:1: 'variables. [31m ' is not a valid name for a variable: use 1 to 64 of the characters "
      "A-Z a-z 0-9 _, not beginning with a digit\np:9:1: 'defaults.timeout' must be a duration "
      "above 0 and at most 24 hours, for example \"500ms\", \"60s\" or \"10min\", not \"  \"\n");
}

TEST(ReadPlan, APlanWhoseProgramsSzcBuildsGetsPadsByDefault) {
  const std::string by_szc =
      with_build +
      "[variables]\nCC = 'szc'\n[factor.opt]\nlevels = { a = { CFLAGS = '-O1' }, b = "
      "{ CFLAGS = '-O2' } }\n";
  std::string text = by_szc;
  text.replace(text.find("cc "), 3, "${CC} ");
  const std::string with = with_defaults(text);
  EXPECT_TRUE(good_plan(with).pads_by_default);
  EXPECT_FALSE(good_plan(text).pads_by_default);
  EXPECT_EQ(without_defaults(with), text);
  EXPECT_EQ(without_defaults(text), text);
  EXPECT_EQ(with_defaults(with), with);
  EXPECT_FALSE(good_plan(text + "[by_default]\nstack = false\n").pads_by_default);
  // Plans that set such a key don't get it, nor do texts that are no plans.
  for (const char* more : {"[randomize]\nstack = false\n", "[randomize]\nstack = true\n",
                           "[randomize]\ncode = false\n", "[factor.code]\nlevels = [false, true]\n",
                           "[factor.stack]\nlevels = [false, true]\n",
                           "[by_default]\nstack = false\n", "[by_default]\n"})
    EXPECT_FALSE(good_plan(with_defaults(text + more)).pads_by_default) << more;
  for (const char* more : {"[by_default]\nstack = false\n", "[by_default]\n", "["})
    EXPECT_EQ(with_defaults(text + more), text + more) << more;
  EXPECT_FALSE(good_plan(with_defaults(by_szc)).pads_by_default)
      << "its build names another compiler";
  EXPECT_NE(with_defaults(text + "[randomize]\nheap = true\n"),
            text + "[randomize]\nheap = true\n");
}

TEST(ReadPlan, TestRunsDecideAboutTheHeapLayerOfProgramsThatSzcBuilds) {
  std::string text =
      with_build +
      "[variables]\nCC = 'szc'\n[factor.opt]\nlevels = { a = { CFLAGS = '-O1' }, b = "
      "{ CFLAGS = '-O2' } }\n";
  EXPECT_FALSE(good_plan(with_defaults(text)).layer_by_default)
      << "its build names another compiler";
  text.replace(text.find("cc "), 3, "${CC} ");
  const std::string with = with_defaults(text);
  EXPECT_TRUE(good_plan(with).layer_by_default);
  EXPECT_FALSE(good_plan(with).benchmarks[0].has_layer);
  EXPECT_FALSE(good_plan(text).layer_by_default);
  EXPECT_EQ(without_defaults(with), text);
  EXPECT_EQ(with_defaults(with), with);
  for (const char* more : {"[randomize]\nstack = true\n", "[randomize]\nstack = false\n",
                           "[factor.stack]\nlevels = [false, true]\n"}) {
    EXPECT_TRUE(good_plan(with_defaults(text + more)).layer_by_default) << more;
    EXPECT_EQ(without_defaults(with_defaults(text + more)), text + more);
  }
  for (const char* more :
       {"[randomize]\nheap = false\n", "[randomize]\nheap = true\n",
        "[randomize]\nallocator = 'layer'\n", "[randomize]\ncode = false\n",
        "[factor.code]\nlevels = [false, true]\n", "[factor.heap]\nlevels = [false, true]\n",
        "[factor.allocator]\nlevels = ['shuffled', 'layer']\n", "[machines]\nengine = 'slurm'\n",
        "[by_default]\nstack = true\n"})
    EXPECT_FALSE(good_plan(with_defaults(text + more)).layer_by_default) << more;
  EXPECT_EQ(problems_of(smallest + "[by_default]\nheap = 'shuffled'\n"),
            "p:7:1: 'by_default.heap' must be \"layer\", not \"shuffled\"\n");
}

TEST(ReadPlan, APlanWithEnoughBlocksMeasuresWhatRandomLayoutsCostByDefault) {
  const std::string two = "[factor.x]\nlevels = { a = { X = '1' }, b = { X = '2' } }\n";
  const auto plan_with = [&](const std::string& repetitions, const std::string& more) {
    return "[experiment]\nname = 't'\n[defaults]\nrepetitions = " + repetitions +
           "\n[[benchmark]]\nname = 'b'\nrun = ['/bin/true', '${X}']\n" + more;
  };
  const std::string heap = "[randomize]\nheap = true\n";
  std::string ten = "[factor.x.levels]\n";  // with them, a plan has as many trials as it may have
  for (int i = 0; i < 10; ++i) ten += fmt::format("l{0} = {{ X = '{0}' }}\n", i);
  EXPECT_EQ(problems_of(plan_with("100000", ten + heap)), "");
  const std::string text = plan_with("20", two + heap);
  const std::string with = with_defaults(text);
  EXPECT_TRUE(good_plan(with).analysis.cost);
  EXPECT_FALSE(good_plan(text).analysis.cost) << "plans of earlier versions";
  EXPECT_EQ(without_defaults(with), text);
  EXPECT_EQ(with_defaults(with), with);
  std::string by_szc = plan_with("20", "build = 'szc -D${X} -o ${OUT} b.c'\n" + two);
  by_szc.replace(by_szc.find("/bin/true"), 9, "${OUT}");
  EXPECT_TRUE(good_plan(with_defaults(by_szc)).analysis.cost);
  EXPECT_TRUE(good_plan(with_defaults(by_szc)).pads_by_default);
  EXPECT_EQ(without_defaults(with_defaults(by_szc)), by_szc);
  for (const std::string& other :
       {plan_with("19", two + heap), plan_with("20", two),
        plan_with("20", heap + "[variables]\nX = '1'\n"),
        plan_with("20", two + heap + "[analysis]\ncost = false\n"),
        plan_with("20", two + "[factor.heap]\nlevels = [false, true]\n"),
        plan_with("20", two + heap + "[by_default]\n"), plan_with("100000", ten + heap)})
    EXPECT_EQ(with_defaults(other), other);
  const std::string said = plan_with("20", two + heap + "[analysis]\ncost = true\n");
  EXPECT_EQ(with_defaults(said), said);
}

TEST(ReadPlan, AStoredPlanKeepsTheClangThatWasTheDefault) {
  const auto compilers = [](const std::string& text) {
    const Variables variables = good_plan(text).variables;
    return variables.at("CC") + " " + variables.at("CXX");
  };
  EXPECT_EQ(compilers(with_build), "clang-19 clang++-19") << "plans of earlier versions";
  const std::string added = with_defaults(with_build);
  EXPECT_EQ(compilers(added), fmt::format("clang-{0} clang++-{0}", default_clang));
  EXPECT_EQ(standard_of<"variables.CC">, fmt::format("clang-{}", default_clang));
  EXPECT_EQ(standard_of<"variables.CXX">, fmt::format("clang++-{}", default_clang));
  EXPECT_EQ(without_defaults(added), with_build);
  EXPECT_EQ(with_defaults(added), added);
  EXPECT_EQ(compilers(with_build + "[by_default]\nclang = 20\n"), "clang-20 clang++-20");
  EXPECT_EQ(compilers(with_defaults(with_build + "[variables]\nCC = 'gcc'\n")), "gcc clang++-22");
  const std::string both = with_build + "[variables]\nCC = 'gcc'\nCXX = 'g++'\n";
  EXPECT_EQ(with_defaults(both), both);
  EXPECT_EQ(with_defaults(smallest), smallest) << "nothing is built";
  // The number of nodes that was chosen from a range stands there, too.
  for (const std::string& text : {smallest, with_build}) {
    const std::string range = text + "[machines]\nengine = 'slurm'\nnodes = '2-4'\n";
    const std::string chosen = with_defaults(range, 3);
    EXPECT_EQ(good_plan(chosen).machine_count(), 3U);
    EXPECT_EQ(without_defaults(chosen), range);
    EXPECT_EQ(with_defaults(range, 5), range) << "a number outside of the range";
  }
  // Tables that a user wrote below stabctl's lines are part of the plan.
  const std::string more = added + "[variables]\nN = '1'\n";
  EXPECT_EQ(without_defaults(more), more);
  // So are values that a user has changed.
  std::string changed = added;
  changed.replace(changed.rfind("22"), 2, "19");
  EXPECT_EQ(without_defaults(changed), changed);
  // The comment that an earlier version wrote.
  EXPECT_EQ(
      without_defaults(with_build + "\n\n# Added by stabctl: what is random even though the "
                                    "plan does not mention it.\n[by_default]\nstack = true\n"),
      with_build);
}

}  // namespace
}  // namespace stab::plan
