// SPDX-License-Identifier: MIT
// Plans whose trials run under a simulator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "design/resolve.h"
#include "design/trial_list.h"
#include "plan/reading/key_list.h"
#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

using testing::HasSubstr;

// What is wrong with the smallest plan and these tables.
std::string more(const std::string& text) {
  return problems_of(smallest + text);
}

const std::string simulate = "[measure]\nsimulate = true\n";
const std::string instructions = "[analysis]\nresponse = 'simulated-instructions'\n";

TEST(ReadPlanSimulated, CountsOfTheSimulatorAreCompared) {
  const Plan plan = good_plan(smallest + simulate +
                              "[measure.derived]\nmpki = \"1000 * 'simulated-d1-misses' / "
                              "'simulated-instructions'\"\n"
                              "[analysis]\nresponse = ['simulated-instructions', 'mpki']\n");
  EXPECT_TRUE(plan.simulated);
  EXPECT_EQ(plan.analysis.response, "simulated-instructions");
  EXPECT_FALSE(good_plan(smallest).simulated);
  EXPECT_FALSE(good_plan(smallest + "[measure]\nsimulate = false\n").simulated);
}

TEST(ReadPlanSimulated, NothingThatOnlyRealRunsHaveIsCompared) {
  EXPECT_THAT(more(simulate),
              HasSubstr("'measure.simulate' does not measure wall time: add [analysis] response"));
  for (const std::string_view response : words::responses)
    EXPECT_THAT(more(simulate + "[analysis]\nresponse = '" + std::string(response) + "'\n"),
                HasSubstr(std::string(response) + " would describe the simulator itself"));
  EXPECT_THAT(more(simulate + "[analysis]\nresponse = ['simulated-branches', 'region-a-ns']\n"),
              HasSubstr("the value of region-a-ns would describe the simulator"));
  EXPECT_THAT(
      more(simulate + "[measure.derived]\nx = \"'simulated-branches' / wall\"\n" + instructions),
      HasSubstr("the value of wall of x would describe the simulator"));
  EXPECT_EQ(more(simulate + "[analysis]\nresponse = 'region-a-count'\n"), "");
}

TEST(ReadPlanSimulated, RealTrialsHaveNoSimulatedCounts) {
  EXPECT_THAT(more(instructions), HasSubstr("needs simulate = true in [measure]"));
  EXPECT_THAT(more("[measure.derived]\nx = \"2 * 'simulated-branches'\"\n"),
              HasSubstr("'simulated-branches' is not a counter, response or output measure"));
  EXPECT_THAT(more("[measure]\ncounters = ['simulated-branches']\n"),
              HasSubstr("is not a counter"));
  EXPECT_THAT(more("[[measure.output]]\nname = 'simulated-branches'\nregex = '(a)'\n"),
              HasSubstr("is a name that every trial already uses"));
}

TEST(ReadPlanSimulated, WhatWouldBeTheSimulatorsIsRefused) {
  const auto refused = [](const std::string& text) { return more(text + instructions); };
  const std::string measure = "[measure]\nsimulate = true\n";
  EXPECT_THAT(refused(measure + "counters = ['cs']\n"), HasSubstr("leave out 'measure.counters'"));
  EXPECT_THAT(refused(measure + "rotate = [['cs'], ['faults']]\n"),
              HasSubstr("leave out 'measure.counters' and 'measure.rotate'"));
  EXPECT_THAT(refused(measure + "[[measure.output]]\nname = 't'\ngoogle_benchmark = 'cpu_time'\n"),
              HasSubstr("Google Benchmark"));
  EXPECT_THAT(refused(measure + "[[exclude]]\nwhen = 'steal_share > 1%'\n"),
              HasSubstr("leave out 'exclude'"));
  for (const std::string machine :
       {"quiesce = 'best-effort'", "wait_for_quiet = '1s'", "aslr = true"})
    EXPECT_THAT(refused(measure + "[machine]\n" + machine + "\n"), HasSubstr("'machine."))
        << machine;
  EXPECT_THAT(refused(measure + "[factor.aslr]\nlevels = [false, true]\n"),
              HasSubstr("leave out the factor 'aslr'"));
  EXPECT_THAT(refused(measure + "[defaults]\nmemory_limit = '1GiB'\n"),
              HasSubstr("leave out 'memory_limit'"));
  EXPECT_THAT(refused(measure + "[defaults]\nfile_limit = '1GiB'\n"),
              HasSubstr("leave out 'file_limit'"));
  EXPECT_THAT(refused(measure + "profile = 'task-clock:u'\n"),
              HasSubstr("leave out 'measure.profile'"));
}

TEST(ReadPlanSimulated, ProgramsHaveOneLayoutARun) {
  const std::string szc = "[variables]\nCC = 'szc'\n";
  for (const std::string key : {"period = '5ms'", "rerandomize = 'repeated'", "budget = '5%'"})
    EXPECT_THAT(more(simulate + "[randomize]\n" + key + "\n" + instructions),
                HasSubstr("leave out 'randomize."))
        << key;
  EXPECT_THAT(
      more(simulate + "[factor.rerandomize]\nlevels = ['once', 'repeated']\n" + instructions),
      HasSubstr("leave out the factor 'rerandomize'"));
  EXPECT_THAT(more(simulate + "[factor.period]\nlevels = ['5ms', '10ms']\n" + instructions),
              HasSubstr("leave out the factor 'period'"));
  const Plan plan = good_plan(smallest + simulate + instructions);
  const Task task = resolve(plan, expand(plan).trials[0]);
  EXPECT_EQ(task.options.at("rerandomize"), "once");
  EXPECT_EQ(task.needs, Needs::nothing);
  const Plan real = good_plan(smallest);
  EXPECT_FALSE(resolve(real, expand(real).trials[0]).options.contains("rerandomize"));
}

}  // namespace
}  // namespace stab::plan
