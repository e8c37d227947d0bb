// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "design/trial_list.h"
#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string opt = "[factor.opt.levels]\nO2 = { CFLAGS = '-O2' }\nO3 = { CFLAGS = '-O3' }\n";

// The rule is on line 8.
std::string with_stop(const std::string& stop, const std::string& more = opt) {
  return with_build + "[design]\nstop = " + stop + "\n" + more;
}

TEST(ReadPlanStop, PrecisionIsAskedAfterEachBlockFromTheFewest) {
  const Plan plan =
      good_plan(with_stop("{ rule = 'precision', half_width = '0.5%', min = 20, max = 24 }"));
  ASSERT_TRUE(plan.design.stop);
  EXPECT_EQ(plan.design.stop->rule, StopRule::precision);
  EXPECT_DOUBLE_EQ(plan.design.stop->half_width, 0.005);
  EXPECT_THAT(plan.design.stop->looks, ElementsAre(20, 21, 22, 23));
  EXPECT_EQ(plan.design.stop->min(), 20U);
  EXPECT_EQ(plan.design.stop->max, 24U);
}

TEST(ReadPlanStop, ARuleIsSaidInWords) {
  EXPECT_EQ(
      describe(*good_plan(with_stop("{ rule = 'sequential', max = 60, looks = 3 }")).design.stop),
      "rule \"sequential\": the experiment ends when every comparison has a verdict; stabd checks "
      "this up to 3 times; the experiment has at least 20 and at most 60 blocks");
  EXPECT_EQ(describe(*good_plan(with_stop("{ rule = 'precision', half_width = '0.5%', max = 60 }"))
                          .design.stop),
            "rule \"precision\": the experiment ends when every interval extends at most 0.5 % to "
            "either side; the experiment has at least 20 and at most 60 blocks");
}

TEST(ReadPlanStop, ManyBlocksAreLookedAtAHundredTimes) {
  const Plan plan = good_plan(with_stop("{ rule = 'precision', half_width = '1%', max = 10020 }"));
  EXPECT_EQ(plan.design.stop->looks.size(), 100U);
  EXPECT_EQ(plan.design.stop->looks[1], 120U);
  EXPECT_EQ(plan.design.stop->looks.back(), 9920U);
}

TEST(ReadPlanStop, TheLooksOfASequentialRuleAreEvenlySpacedAndTheLastIsAtTheEnd) {
  const Plan plan = good_plan(with_stop("{ rule = 'sequential', min = 10, max = 50 }"));
  EXPECT_EQ(plan.design.stop->rule, StopRule::sequential);
  EXPECT_THAT(plan.design.stop->looks, ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(
      good_plan(with_stop("{ rule = 'sequential', max = 100, looks = 3 }")).design.stop->looks,
      ElementsAre(20, 60));
  EXPECT_THAT(good_plan(with_stop("{ rule = 'sequential', min = 5, max = 6 }")).design.stop->looks,
              ElementsAre(5));
}

TEST(ReadPlanStop, ThePlanExpandsToTheMostBlocks) {
  const Plan plan =
      good_plan(with_stop("{ rule = 'precision', half_width = '0.5%', min = 15, max = 100 }"));
  EXPECT_EQ(plan.benchmarks.at(0).repetitions, 100U);
  EXPECT_EQ(expand(plan).trials.size(), 200U);
  EXPECT_EQ(fewest_trials(plan), 30U);
}

// What is run does not depend on when it ends.
TEST(ReadPlanStop, TheFirstBlocksAreThoseOfAPlanWithoutTheRule) {
  const Expansion stopped =
      expand(good_plan(with_stop("{ rule = 'sequential', min = 10, max = 50 }")));
  const Expansion fixed = expand(good_plan(with_build + "repetitions = 10\n" + opt));
  ASSERT_EQ(fixed.trials.size(), 20U);
  for (const Trial& trial : fixed.trials) {
    EXPECT_EQ(trial.seed, stopped.trials[trial.position].seed);
    EXPECT_EQ(trial.cell, stopped.trials[trial.position].cell);
  }
}

TEST(ReadPlanStop, MistakesAreNamedWithTheirPlaces) {
  EXPECT_EQ(problems_of(with_stop("'precision'")),
            "p:8:1: 'design.stop' must be a table, not \"precision\"\n");
  EXPECT_EQ(problems_of(with_stop("{ rule = 'precisio', max = 50 }")),
            "p:8:10: 'design.stop.rule' must be \"precision\" or \"sequential\", not \"precisio\", "
            "did you mean 'precision'?\n");
  EXPECT_EQ(problems_of(with_stop("{ rule = 'precision', half_with = '1%', max = 50 }")),
            "p:8:8: 'design.stop.half_width' is missing: add the largest half-width that an "
            "interval may have, for example \"0.5%\"\n"
            "p:8:30: unknown key 'design.stop.half_with', did you mean 'half_width'?\n");
  EXPECT_EQ(problems_of(with_stop("{ rule = 'sequential' }")),
            "p:8:8: 'design.stop.max' is missing: add the largest number of blocks\n");
  EXPECT_EQ(problems_of(with_stop("{ max = 50 }")),
            "p:8:8: 'design.stop.rule' is missing: add \"precision\" or \"sequential\"\n");
  EXPECT_THAT(
      problems_of(with_stop("{ rule = 'precision', half_width = '1%', min = 14, max = 50 }")),
      HasSubstr("'design.stop.min' must be a whole number from 15 to 1000000, not 14"));
  EXPECT_THAT(
      problems_of(with_stop("{ rule = 'sequential', max = 20 }")),
      HasSubstr("'design.stop.max' must be larger than 'design.stop.min', which is 20, not 20"));
  EXPECT_THAT(problems_of(with_stop("{ rule = 'sequential', min = 10, max = 12, looks = 4 }")),
              HasSubstr("'design.stop.looks' must be at most 3 (one look after each block, from "
                        "block 10 to block 12), not 4"));
}

TEST(ReadPlanStop, AKeyOfTheOtherRuleIsAMistake) {
  EXPECT_THAT(problems_of(with_stop("{ rule = 'sequential', half_width = '1%', max = 50 }")),
              HasSubstr("'design.stop.half_width' needs rule = \"precision\""));
  EXPECT_THAT(
      problems_of(with_stop("{ rule = 'precision', half_width = '1%', max = 50, looks = 5 }")),
      HasSubstr("'design.stop.looks' needs rule = \"sequential\""));
}

TEST(ReadPlanStop, RepetitionsAreTheRules) {
  EXPECT_EQ(problems_of(with_build + "repetitions = 3\n" + opt +
                        "[design]\nstop = { rule = 'sequential', max = 50 }\n"),
            "p:7:1: leave out 'repetitions', because 'design.stop.max' already limits the number "
            "of blocks\n");
}

TEST(ReadPlanStop, ADesignThatMoreBlocksDoNotHelpIsRefused) {
  const std::string stop = "stop = { rule = 'sequential', max = 50 }\n";
  EXPECT_EQ(problems_of(with_build +
                        "[[benchmark]]\nname = 'c'\nbuild = 'cc ${CFLAGS} -o ${OUT}'\n"
                        "run = ['${OUT}']\n[design]\nkind = 'within-subjects'\n" +
                        stop + opt),
            "p:13:1: 'design.stop' does not apply to a within-subjects design: the answer is about "
            "programs like the benchmarks, and more blocks do not add programs; remove "
            "this key, or choose a full-factorial, one-way or custom design\n");
  EXPECT_THAT(
      problems_of(with_build + "[design]\nkind = 'nested'\n" + stop + opt +
                  "[factor.link_order]\nrandom = { seeds = 3, runs = 2 }\n"),
      HasSubstr("'design.stop' does not apply to a nested design: treatments are tested against "
                "the differences between seeds, and more blocks do not add seeds"));
}

TEST(ReadPlanStop, WithoutATreatmentThereIsNothingToAsk) {
  EXPECT_THAT(problems_of(with_stop("{ rule = 'sequential', max = 50 }", "")),
              HasSubstr("p:8:1: 'design.stop' compares levels, but this plan has no treatment"));
}

TEST(ReadPlanStop, TheMostTrialsCount) {
  EXPECT_THAT(problems_of(with_stop("{ rule = 'sequential', max = 1000000 }")),
              HasSubstr("p:8:1: the plan has 2000000 trials"));
}

TEST(ReadPlanStop, ATimeEndsAnyDesignThatMoreBlocksHelp) {
  const Plan plan = good_plan(with_build + "[design]\ntime = '90s'\n" + opt);
  EXPECT_EQ(plan.design.time, std::chrono::seconds(90));
  EXPECT_FALSE(plan.design.stop);
  EXPECT_EQ(plan.design.fewest_blocks(), 5U);
  EXPECT_EQ(fewest_trials(plan), 5U * 2);
  const Plan both = good_plan(with_build +
                              "[design]\ntime = '1h'\nstop = { rule = 'sequential', min = 12, "
                              "max = 50 }\n" +
                              opt);
  EXPECT_EQ(both.design.fewest_blocks(), 12U);
  EXPECT_FALSE(good_plan(with_build + opt).design.fewest_blocks());
  EXPECT_THAT(problems_of(with_build + "[design]\nkind = 'nested'\ntime = '90s'\n" + opt +
                          "[factor.link_order]\nrandom = { seeds = 3, runs = 2 }\n"),
              HasSubstr("'design.time' does not apply to a nested design"));
}

}  // namespace
}  // namespace stab::plan
