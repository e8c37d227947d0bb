// SPDX-License-Identifier: MIT
// [[measure.output]] and [measure.derived].
#include <gmock/gmock.h>

#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string more(const std::string& text) {
  return problems_of(smallest + text);
}

TEST(ReadPlanOutput, KeepsWhatItIsTold) {
  const Plan plan =
      good_plan(smallest +
                "[[measure.output]]\nname = 'ops'\nregex = 'ops (\\d+)'\ntake = 'last'\n"
                "unit = '1/s'\nfrom = 'stderr'\nbenchmarks = ['b']\n"
                "[[measure.output]]\nname = 'time.ns'\njson = '/a/0'\n"
                "[analysis]\nresponse = 'ops'\nbetter = 'higher'\n");
  ASSERT_EQ(plan.outputs.size(), 2U);
  const OutputMeasure& ops = plan.outputs[0];
  EXPECT_EQ(ops.name, "ops");
  EXPECT_EQ(ops.regex, "ops (\\d+)");
  EXPECT_EQ(ops.pick, Pick::last);
  EXPECT_EQ(ops.unit, "1/s");
  EXPECT_TRUE(ops.from_stderr);
  EXPECT_EQ(ops.benchmarks, std::vector<std::string>{"b"});
  EXPECT_EQ(plan.outputs[1].json, "/a/0");
  EXPECT_EQ(plan.outputs[1].pick, Pick::only);
  EXPECT_FALSE(plan.outputs[1].from_stderr);
  EXPECT_EQ(plan.analysis.response, "ops");
  EXPECT_TRUE(plan.analysis.higher_is_better);
}

TEST(ReadPlanOutput, NeedsAPatternOrAPointer) {
  EXPECT_EQ(more("[[measure.output]]\nname = 'ops'\n"),
            "p:6:1: 'measure.output' needs one of 'regex', 'json' and 'google_benchmark' to find "
            "the value\n");
  EXPECT_THAT(more("[[measure.output]]\nname = 'ops'\nregex = '(a)'\njson = '/a'\n"),
              HasSubstr("needs one of 'regex', 'json' and 'google_benchmark'"));
  EXPECT_THAT(more("[[measure.output]]\nregex = '(a)'\n"), HasSubstr("'measure.output.name'"));
  EXPECT_EQ(more("[[measure.output]]\nname = 'ops'\nregex = 'a'\n"),
            "p:8:9: 'measure.output.regex': the pattern has no group: put the number between "
            "( and )\n");
  EXPECT_THAT(more("[[measure.output]]\nname = 'ops'\nregex = '(a'\n"),
              HasSubstr("p:8:9: 'measure.output.regex': missing )"));
  EXPECT_EQ(more("[[measure.output]]\nname = 'ops'\njson = 'a'\ntake = 'sum'\n"),
            "p:8:8: 'measure.output.json' is not a pointer: a JSON pointer must be \"\" or begin "
            "with '/', and can contain '~' only in ~0 and ~1\np:9:1: 'measure.output.take' is for "
            "'regex': 'json' selects one value\n");
}

TEST(ReadPlanOutput, WhatIsKnownOfBuildsMayBeComparedAndComputedWith) {
  const Plan plan = good_plan(with_build +
                              "[measure.derived]\nkib = \"'code-size' / 1024\"\n"
                              "[analysis]\nresponse = ['code-size', 'compile-time', 'kib']\n");
  EXPECT_EQ(plan.analysis.response, "code-size");
  EXPECT_EQ(plan.analysis.others.at(0).name, "compile-time");
  EXPECT_THAT(more("[measure]\ncounters = ['code-size']\n"),
              HasSubstr("code-size is measured in each trial and is not a counter"));
  EXPECT_THAT(more("[[measure.output]]\nname = 'compile-time'\nregex = '(a)'\n"),
              HasSubstr("'compile-time' is a name that every trial already uses"));
  EXPECT_THAT(
      more("[analysis]\nresponse = 'compile-time'\n"),
      HasSubstr("'analysis.response' needs 'compile-time', but benchmark 'b' has no 'build'"));
  EXPECT_EQ(good_plan(smallest + "[analysis]\nresponse = 'code-size'\n").analysis.response,
            "code-size");
}

TEST(ReadPlanOutput, MayBeManyNumbersOfATrial) {
  const Plan plan = good_plan(smallest +
                              "[[measure.output]]\nname = 'time'\ngoogle_benchmark = 'cpu_time'\n"
                              "[[measure.output]]\nname = 'rate'\ngoogle_benchmark = 'bytes'\n"
                              "unit = 'B/s'\n"
                              "[[measure.output]]\nname = 'ops'\nregex = '(a)'\ntake = 'samples'\n"
                              "[analysis]\nresponse = ['time', 'ops']\n");
  EXPECT_EQ(plan.outputs[0].google_benchmark, "cpu_time");
  EXPECT_EQ(plan.outputs[1].unit, "B/s");
  EXPECT_EQ(plan.outputs[2].pick, Pick::samples);
  for (const OutputMeasure& each : plan.outputs) EXPECT_TRUE(each.has_samples()) << each.name;
  EXPECT_TRUE(plan.is_split("time"));
  EXPECT_FALSE(plan.is_split("ops"));
  EXPECT_FALSE(plan.is_split("wall"));
}

TEST(ReadPlanOutput, ANumberOfEachBenchmarkIsNoneOfTheTrial) {
  const std::string time = "[[measure.output]]\nname = 'time'\ngoogle_benchmark = 'real_time'\n";
  EXPECT_THAT(
      more(time + "take = 'mean'\nunit = 's'\n"),
      AllOf(HasSubstr("p:9:1: 'measure.output.take' is for 'regex': with 'google_benchmark', each "
                      "repetition is a sample"),
            HasSubstr("p:10:1: 'measure.output.unit' must be ns for times of Google Benchmark")));
  EXPECT_THAT(more(time + "unit = 'ns'\n"), Not(HasSubstr("unit")));
  EXPECT_THAT(
      more(time + "[measure.derived]\nhalf = 'time / 2'\n"),
      HasSubstr("p:10:8: 'measure.derived.half', character 1: 'time' has a value for each of "
                "Google Benchmark's benchmarks, but a formula needs one value per trial"));
  const std::string fit_for_subjects =
      "[[benchmark]]\nname = 'c'\nrun = ['/bin/true']\n[factor.aslr]\nlevels = [false, true]\n";
  for (const auto& [kind, others] :
       {std::pair(std::string("within-subjects"), fit_for_subjects), {"calibration", ""}})
    for (const std::string response : {"'time'", "['wall', 'time']"})
      EXPECT_THAT(more(others + time + "[design]\nkind = '" + kind +
                       "'\n[analysis]\nresponse = " + response + "\n"),
                  HasSubstr("'analysis.response' comes from Google Benchmark, which measures many "
                            "benchmarks in one trial, but in a " +
                            kind + " design each benchmark needs trials of its own"));
}

TEST(ReadPlanOutput, IsBounded) {
  EXPECT_THAT(
      more("[[measure.output]]\nname = 'o p'\nregex = '(a)'\nunit = 'a\\tb'\ntake = 'every'\n"
           "from = 'file'\nbenchmarks = ['c']\n"),
      AllOf(HasSubstr("'measure.output.name' must be 1 to 64"),
            HasSubstr("'measure.output.take' must be \"only\" or \"first\" or"),
            HasSubstr("'measure.output.from' must be \"stdout\" or \"stderr\""),
            HasSubstr("no benchmark has the name 'c'")));
  EXPECT_THAT(more("[[measure.output]]\nname = 'x'\nregex = '(" + std::string(1000, 'a') + ")'\n"),
              HasSubstr("must be a pattern of 1 to 1000 bytes"));
  EXPECT_THAT(more("[[measure.output]]\nname = 'x'\nregex = '(a)'\nunit = '" +
                   std::string(21, 'a') + "'\n"),
              HasSubstr("must be a text of at most 20 printable characters"));
  EXPECT_THAT(more("[[measure.output]]\nname = 'x'\nregex = '(a)'\nbenchmarks = []\n"),
              HasSubstr("(to use all benchmarks, leave the key out)"));
  std::string many;
  for (int i = 0; i < 65; ++i)
    many += "[[measure.output]]\nname = 'm" + std::to_string(i) + "'\nregex = '(a)'\n";
  EXPECT_THAT(more(many),
              HasSubstr("a plan may have at most 64 'measure.output' tables, but this one has 65"));
  EXPECT_THAT(more("[measure]\noutput = 7\n"), HasSubstr("written as [[measure.output]]"));
}

TEST(ReadPlanMeasures, NamesAreNotTaken) {
  const auto named = [](const std::string& name) {
    return more(
        "[factor.opt]\nlevels = { a = { X = '1' }, b = { X = '2' } }\n"
        "[measure]\ncounters = ['cycles']\n[measure.derived]\n'" +
        name + "' = '2 * wall'\n");
  };
  EXPECT_THAT(named("cycles"), HasSubstr("'cycles' is already measured: choose another name"));
  EXPECT_THAT(named("wall"), HasSubstr("'wall' is already measured"));
  EXPECT_THAT(named("opt"), HasSubstr("'opt' is also a factor"));
  EXPECT_THAT(named("interrupts"),
              HasSubstr("'interrupts' is a name that every trial already uses"));
  for (const char* name :
       {"quiet-wait-ns", "quiet-wait-in-vain", "commit-before-ns", "reports-beside-ns"})
    EXPECT_THAT(named(name), HasSubstr("is a name that every trial already uses"));
  EXPECT_THAT(named("wall_ns"), HasSubstr("is a name that every trial already uses"));
  EXPECT_THAT(named("a.status"), HasSubstr("is a name that every trial already uses"));
  EXPECT_THAT(named("a b"), HasSubstr("is not a valid name for a measure"));
  EXPECT_THAT(more("[[measure.output]]\nname = 'x'\nregex = '(a)'\n[[measure.output]]\nname = 'x'\n"
                   "regex = '(b)'\n"),
              HasSubstr("p:10:8: 'x' is already measured"));
}

const std::string counted = "[measure]\ncounters = ['instructions', 'cycles', 'page-faults']\n";

TEST(ReadPlanDerived, KeepsFormulasInThePlansOrder) {
  const Plan plan =
      good_plan(smallest + counted +
                "[measure.derived]\nipc = 'instructions / cycles'\n"
                "\"per-ms\" = \"1e6 * 'page-faults' / wall\"\n[analysis]\nresponse = 'ipc'\n");
  ASSERT_EQ(plan.derived.size(), 2U);
  EXPECT_EQ(plan.derived[0].name, "ipc");
  EXPECT_EQ(plan.derived[0].formula, "instructions / cycles");
  EXPECT_EQ(plan.derived[1].name, "per-ms");
  EXPECT_EQ(plan.analysis.response, "ipc");
}

TEST(ReadPlanDerived, AMistakeHasItsPlaceInTheFormula) {
  const auto formula = [](const std::string& text) {
    return more(counted + "[measure.derived]\nipc = \"" + text + "\"\ntwice = '2 * wall'\n");
  };
  EXPECT_EQ(
      formula("instructions / cycels"),
      "p:9:7: 'measure.derived.ipc', character 16: 'cycels' is not a counter, response or output "
      "measure, did you mean 'cycles'?\n");
  EXPECT_EQ(
      formula("instructions +"),
      "p:9:7: 'measure.derived.ipc', character 15: a name or a number is missing at the end\n");
  EXPECT_THAT(formula("page-faults / wall"),
              HasSubstr("character 1: 'page' is not a counter, response or output measure: put "
                        "'page-faults' in quotes"));
  EXPECT_THAT(
      formula("twice / 2"),
      HasSubstr("character 1: 'twice' is itself a derived measure: write its formula here"));
  EXPECT_THAT(formula(""), HasSubstr("must be a formula of 1 to 1000 bytes"));
  EXPECT_THAT(more("[measure.derived]\nipc = 7\n"), HasSubstr("'measure.derived.ipc'"));
}

const std::string second = "[[benchmark]]\nname = 'c'\nrun = ['/bin/true']\n";

TEST(ReadPlanMeasures, AResponseIsThereInAllBenchmarks) {
  const std::string measures =
      "[[measure.output]]\nname = 'ops'\nregex = '(a)'\nbenchmarks = ['b']\n"
      "[measure.derived]\ncost = 'wall / ops'\n";
  for (const std::string response : {"ops", "cost"})
    EXPECT_THAT(more(second + measures + "[analysis]\nresponse = '" + response + "'\n"),
                HasSubstr("'analysis.response' needs the number 'ops' from each benchmark, but "
                          "'measure.output.benchmarks' does not list benchmark 'c'"));
  EXPECT_EQ(more(second + measures), "");
  EXPECT_EQ(more(measures + "[analysis]\nresponse = 'cost'\n"), "");
}

TEST(ReadPlanResponses, TheFirstOfSeveralDecides) {
  const Analysis analysis = good_plan(smallest + counted +
                                      "[analysis]\nresponse = ['wall', 'cycles', 'instructions']\n"
                                      "higher = ['instructions']\n")
                                .analysis;
  EXPECT_EQ(analysis.response, "wall");
  EXPECT_FALSE(analysis.higher_is_better);
  ASSERT_EQ(analysis.others.size(), 2U);
  EXPECT_EQ(analysis.others[0].name, "cycles");
  EXPECT_FALSE(analysis.others[0].higher_is_better);
  EXPECT_EQ(analysis.others[1].name, "instructions");
  EXPECT_TRUE(analysis.others[1].higher_is_better);
  EXPECT_EQ(good_plan(smallest + "[analysis]\nresponse = ['cpu']\n").analysis.response, "cpu");
  EXPECT_TRUE(good_plan(smallest).analysis.others.empty());
}

TEST(ReadPlanResponses, DirectionsOfFurtherOnesNeedResponses) {
  EXPECT_TRUE(good_plan(smallest + "[analysis]\nhigher = ['wall']\n").analysis.has_idle_higher);
  EXPECT_FALSE(good_plan(smallest + "[analysis]\nresponse = ['wall', 'cpu']\nhigher = ['cpu']\n")
                   .analysis.has_idle_higher);
  EXPECT_FALSE(good_plan(smallest).analysis.has_idle_higher);
}

TEST(ReadPlanResponses, EachIsOneAndThereOnce) {
  EXPECT_THAT(
      more("[analysis]\nresponse = ['wall', 'cyles', 7, 'wall']\nhigher = ['wall']\n"),
      AllOf(HasSubstr("p:7:21: 'analysis.response' must be wall, user"),
            HasSubstr("p:7:30: each item of 'analysis.response' must be a text"),
            HasSubstr("p:7:33: 'analysis.response' has wall twice"),
            HasSubstr(
                "p:8:11: 'analysis.higher' contains wall, but 'analysis.response' does not list it "
                "as a further response; for the first response, set 'analysis.better'")));
  EXPECT_THAT(more("[analysis]\nresponse = []\n"), HasSubstr("an array of 1 to 16 texts"));
  EXPECT_THAT(more("[analysis]\nresponse = 7\n"),
              HasSubstr("'analysis.response' must be a text of 1 to 200 printable characters"));
  EXPECT_THAT(more("[design]\nkind = 'calibration'\n[analysis]\nresponse = ['wall', 'cpu']\n"),
              HasSubstr("'analysis.response' must be a single response in a calibration"));
}

TEST(ReadPlanMeasures, NoRuleExcludesByWhatADerivedResponseCounts) {
  EXPECT_THAT(
      more("[measure]\ncounters = ['migrations']\n[measure.derived]\nrate = 'migrations / wall'\n"
           "[[exclude]]\nwhen = 'migrations_per_s > 5'\n[analysis]\nresponse = 'rate'\n"),
      HasSubstr("both count the same"));
  EXPECT_THAT(more("[measure]\ncounters = ['migrations']\n[[exclude]]\n"
                   "when = 'migrations_per_s > 5'\n"
                   "[analysis]\nresponse = ['wall', 'migrations']\n"),
              HasSubstr("both count the same"));
}

TEST(ReadPlanRegions, AreResponsesAndPartsOfFormulasByTheirNames) {
  const Plan plan =
      good_plan(smallest +
                "[measure.derived]\nper_parse = \"'region-parse-ns' / 'region-parse-count'\"\n"
                "[analysis]\nresponse = ['region-parse-ns', 'region-Emit.a_1-count']\n"
                "higher = ['region-Emit.a_1-count']\n");
  EXPECT_EQ(plan.analysis.response, "region-parse-ns");
  EXPECT_EQ(plan.analysis.others.at(0).name, "region-Emit.a_1-count");
  EXPECT_TRUE(plan.analysis.others.at(0).higher_is_better);
  EXPECT_EQ(plan.derived.at(0).name, "per_parse");
  for (const std::string name : {"region-parse", "region--ns", "region-a b-ns", "region-ns"})
    EXPECT_THAT(more("[analysis]\nresponse = '" + name + "'\n"),
                HasSubstr("'region-NAME-ns' or 'region-NAME-count'"))
        << name;
}

TEST(ReadPlanRegions, NothingElseHasTheirNames) {
  EXPECT_THAT(more("[[measure.output]]\nname = 'region-parse-ns'\nregex = '(a)'\n"),
              HasSubstr("is a name that every trial already uses"));
  EXPECT_THAT(more("[measure]\ncounters = ['region-parse-count']\n"),
              HasSubstr("is measured in each trial and is not a counter"));
}

}  // namespace
}  // namespace stab::plan
