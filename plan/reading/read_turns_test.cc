// SPDX-License-Identifier: MIT
// measure.rotate, and what can be compared of it.
#include <gmock/gmock.h>

#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Sets = std::vector<std::vector<std::string>>;

const std::string sets = "[measure]\nrotate = [['cycles', 'instructions'], ['cycles', 'cs']]\n";

std::string more(const std::string& text) {
  return problems_of(smallest + text);
}

TEST(ReadPlanTurns, SetsAreArraysOfNamesWhichMayShareSome) {
  EXPECT_EQ(good_plan(smallest).rotated, Sets());
  const Plan plan = good_plan(smallest + sets + "[analysis]\nresponse = ['wall', 'cs']\n");
  EXPECT_EQ(plan.rotated, (Sets{{"cycles", "instructions"}, {"cycles", "cs"}}));
  EXPECT_EQ(plan.analysis.others[0].name, "cs");
  EXPECT_EQ(counter_names(plan), (std::vector<std::string>{"cycles", "instructions", "cs"}));
}

TEST(ReadPlanTurns, SaysWhatIsWrongWithEach) {
  EXPECT_EQ(more("[measure]\ncounters = ['cycles']\nrotate = [['cycles'], [], 'cs', ['a', 'a', "
                 "'wall']]\n"),
            "p:8:12: cycles is also in 'measure.counters', so each block counts it: leave it out "
            "of 'measure.rotate'\np:8:23: each item of 'measure.rotate' must be an array of at "
            "least one name, not an array\np:8:27: each item of 'measure.rotate' must be an array "
            "of at least one name, not \"cs\"\np:8:39: a is already counted\np:8:44: wall is "
            "measured in each trial and is not a counter: leave it out\n");
  EXPECT_THAT(more("[measure]\nrotate = [['cycles']]\n"),
              HasSubstr("'measure.rotate' needs 2 to 16 arrays of names, but has 1: for a "
                        "single set, use 'measure.counters'"));
  EXPECT_THAT(more("[measure]\nrotate = 'cycles'\n"),
              HasSubstr("'measure.rotate' must be an array of arrays of names"));
  std::string many = "[measure]\nrotate = [";
  for (int i = 0; i < 17; ++i) many += "['r" + std::to_string(i) + "'],";
  EXPECT_THAT(more(many + "]\n"),
              HasSubstr("'measure.rotate' needs 2 to 16 arrays of names, but has 17"));
  many = "[measure]\ncounters = ['cs']\nrotate = [['cycles'], [";
  for (int i = 0; i < 63; ++i) many += "'r" + std::to_string(i) + "',";
  EXPECT_THAT(more(many + "]]\n"), HasSubstr("'measure.rotate' has 65 names including the names in "
                                             "'measure.counters', but at most 64 are allowed"));
}

TEST(ReadPlanTurns, EachSetNeedsABlockOfEachBenchmark) {
  const std::string few = "[[benchmark]]\nname = 'few'\nrun = ['/bin/true']\nrepetitions = 1\n";
  EXPECT_EQ(more(few + sets),
            "p:11:1: 'measure.rotate' has 2 sets and needs a block for each set, but 'few' has 1 "
            "block: use more blocks, or fewer sets\n");
  const std::string stop =
      "[factor.aslr]\nlevels = [false, true]\n[design]\nkind = 'one-way'\n"
      "stop = { rule = 'sequential', min = 5, max = 40 }\n[measure]\nrotate = [";
  EXPECT_THAT(more(stop + "['a'],['b'],['c'],['d'],['e'],['f']]\n"),
              HasSubstr("has 6 sets and needs a block for each set, but 'b' has 5 blocks before "
                        "the experiment may end"));
  EXPECT_EQ(more(stop + "['a'],['b'],['c'],['d'],['e']]\n"), "");
}

TEST(ReadPlanTurns, AFormulasPartsAreCountedTogetherInSomeBlock) {
  EXPECT_EQ(more(sets + "[measure.derived]\nipc = 'instructions / cycles'\n"), "");
  EXPECT_EQ(more(sets + "[measure.derived]\nx = 'instructions / cs'\n"),
            "p:9:5: 'measure.derived.x' is computed from events that no block counts together: put "
            "them into one set of 'measure.rotate'\n");
}

TEST(ReadPlanTurns, WhatTakesTurnsIsComparedInDesignsOfBlocksOnly) {
  const std::string levels = "[factor.aslr]\nlevels = [false, true]\n";
  const std::string response = "[analysis]\nresponse = 'cs'\n";
  const std::string refused =
      "'analysis.response' cannot be cs: 'measure.rotate' counts it only in some blocks, and ";
  EXPECT_EQ(more(levels + sets + response), "");
  const std::string stop =
      "[design]\nkind = 'one-way'\nstop = { rule = 'precision', half_width = '1%', max = 40 }\n";
  EXPECT_THAT(more(levels + sets + response + stop),
              AllOf(HasSubstr("p:11:1: " + refused + "design.stop counts blocks"),
                    HasSubstr("Count it in 'measure.counters', or compare another response")));
  EXPECT_EQ(more(levels + sets + stop), "");
  EXPECT_THAT(more(levels + sets + stop + "[analysis]\nresponse = ['wall', 'cs']\n"),
              HasSubstr(refused));
  EXPECT_THAT(
      more(sets + response + "[design]\nkind = 'calibration'\n"),
      HasSubstr(refused + "all comparisons of a calibration need the same number of blocks"));
  EXPECT_EQ(more(sets + "[design]\nkind = 'calibration'\n"), "");
  const auto seeds = [&](const char* kind) {
    return problems_of(with_build +
                       "[factor.opt.levels]\nO1 = { CFLAGS = '-O1' }\n"
                       "O2 = { CFLAGS = '-O2' }\n"
                       "[factor.link_order]\nrandom = { seeds = 3, runs = 4 }\n" +
                       sets + response + "[design]\nkind = '" + kind + "'\n");
  };
  for (const char* kind : {"nested", "padding-study"})
    EXPECT_THAT(seeds(kind),
                HasSubstr(refused + "the value of a seed is computed from all runs of the seed"))
        << kind;
  EXPECT_THAT(more("[[benchmark]]\nname = 'c'\nrun = ['/bin/true']\n" + levels + sets + response +
                   "method = 'stabilizer'\nlog = false\n"
                   "[design]\nkind = 'within-subjects'\n"),
              HasSubstr(refused + "method = \"stabilizer\""));
}

TEST(ReadPlanTurns, RulesDoNotLookAtWhatTakesTurns) {
  const std::string rule = "[[exclude]]\nwhen = 'involuntary_switches_per_s > 5'\n";
  EXPECT_EQ(more(rule + sets), "");
  EXPECT_THAT(
      more(rule + sets + "[analysis]\nresponse = 'cs'\n"),
      HasSubstr("'exclude.when' must not use 'involuntary_switches_per_s' if cs is the response"));
  EXPECT_THAT(more("[[exclude]]\nwhen = 'cycles > 5'\n" + sets),
              HasSubstr("'exclude.when' uses 'cycles', which is not a quantity"));
}

}  // namespace
}  // namespace stab::plan
