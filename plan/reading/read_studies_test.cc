// SPDX-License-Identifier: MIT
// Calibrations, padding studies and fractional designs: what is read, and what is wrong with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "design/resolve.h"
#include "design/trial_list.h"
#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

using ::testing::HasSubstr;

const std::string opt =
    "[factor.opt]\nlevels = { O2 = { CFLAGS = '-O2' }, O3 = { CFLAGS = '-O3' } }\n";
const std::string three =
    "[factor.opt.levels]\nO1 = { CFLAGS = '-O1' }\nO2 = { CFLAGS = '-O2' }\nO3 = { CFLAGS = '-O3' "
    "}\n";
const std::string aslr = "[factor.aslr]\nlevels = [false, true]\n";
const std::string bytes = "[factor.env_bytes]\nlevels = [0, 64]\n";
const std::string seeds = "[factor.link_order]\nrandom = { seeds = 4, runs = 3 }\n";
const std::string per_block = "[factor.link_order]\nrandom = { per = 'block' }\n";

// From line 7 on.
std::string more(const std::string& lines) {
  return problems_of(with_build + lines);
}
Plan plan_of(const std::string& lines) {
  return good_plan(with_build + lines);
}

const std::string calibration = "repetitions = 10\n[design]\nkind = 'calibration'\n";

TEST(Calibration, RunsTwoArmsThatDifferInTheirNames) {
  const Plan plan = plan_of(calibration + "comparisons = 3\n");
  EXPECT_EQ(plan.design.comparisons, 3U);
  EXPECT_EQ(plan.benchmarks.at(0).repetitions, 30U);
  ASSERT_EQ(plan.factors.size(), 1U);
  EXPECT_EQ(plan.factors[0].name, "arm");
  const Expansion expansion = expand(plan);
  EXPECT_EQ(expansion.cells.size(), 2U);
  EXPECT_EQ(expansion.trials.size(), 60U);
  for (const Trial& trial : expansion.trials) {
    const Task task = resolve(plan, trial);
    EXPECT_EQ(task.build, resolve(plan, expansion.trials[0]).build);
    EXPECT_EQ(task.run, resolve(plan, expansion.trials[0]).run);
    EXPECT_EQ(task.env, resolve(plan, expansion.trials[0]).env);
  }
}

TEST(Calibration, HasTwentyComparisonsUnlessThePlanSaysOtherwise) {
  EXPECT_EQ(plan_of(calibration).design.comparisons, 20U);
  EXPECT_EQ(plan_of(calibration).benchmarks.at(0).repetitions, 200U);
}

TEST(Calibration, DrawsTheSameLayoutForBothArmsOfABlock) {
  const Plan plan = plan_of(calibration + per_block);
  std::map<std::uint32_t, std::set<std::string>> drawn;
  for (const Trial& trial : expand(plan).trials) drawn[trial.block].insert(trial.levels[0].name);
  EXPECT_EQ(drawn.size(), 200U);
  for (const auto& [block, values] : drawn) EXPECT_EQ(values.size(), 1U);
}

TEST(Calibration, ComparesNothingElse) {
  EXPECT_EQ(more("[design]\nkind = 'calibration'\n" + opt),
            "p:8:1: a calibration design compares programs with themselves and must not have "
            "treatments, but this plan has 1: opt\n");
  EXPECT_EQ(more("[design]\nkind = 'calibration'\n" + seeds),
            "p:9:9: the factor 'link_order' with random = { seeds, runs } needs design.kind = "
            "\"nested\" or \"padding-study\"\n");
  EXPECT_EQ(
      more("[design]\nkind = 'calibration'\n[analysis]\nlog = false\nequivalence = '1%'\n"),
      "p:10:1: 'analysis.log' must be true in a calibration, which reports differences as ratios: "
      "remove it\np:11:1: 'analysis.equivalence' has no effect in a calibration: remove it\n");
}

TEST(Control, RepeatsTheFirstOfThreeLevelsOrMore) {
  const auto with = [](const std::string& levels, const std::string& rest) {
    return more("[factor.opt]\nlevels = { " + levels + " }\n" + rest);
  };
  const std::string abc = "a = { CFLAGS = '1' }, b = { CFLAGS = '2' }, c = { CFLAGS = '3' }";
  const std::string one_way = "[design]\nkind = 'one-way'\n";
  EXPECT_EQ(with(abc, one_way + "[analysis]\ncontrol = 'c'\n"), "");
  for (const char* wrong : {"a", "d"})
    EXPECT_THAT(with(abc, one_way + "[analysis]\ncontrol = '" + wrong + "'\n"),
                HasSubstr("must be the second or a later level of 'opt'"));
  EXPECT_THAT(
      with("a = { CFLAGS = '1' }, b = { CFLAGS = '2' }", one_way + "[analysis]\ncontrol = 'b'\n"),
      HasSubstr("and the factor needs at least three levels"));
  EXPECT_THAT(with(abc, one_way + "[analysis]\ncontrol = 'c'\npairs = 'all'\n"),
              HasSubstr("cannot be combined with pairs"));
  EXPECT_THAT(with(abc, "[analysis]\ncontrol = 'c'\n"),
              HasSubstr("works only with design.kind = \"one-way\""));
}

TEST(Calibration, HasOnePairOfArmsAndItsOwnError) {
  EXPECT_EQ(
      more("[design]\nkind = 'calibration'\n[analysis]\npairs = 'all'\nerror = 'pooled'\n"),
      "p:10:1: 'analysis.pairs' cannot be \"all\", because the two arms of a calibration form only "
      "one pair: remove this key\np:11:1: 'analysis.error' cannot be \"pooled\", because a "
      "calibration compares its arms block by block: remove this key\n");
}

TEST(Calibration, HasComparisonsOfOneSize) {
  EXPECT_EQ(more("repetitions = 10\n[[benchmark]]\nname = 'c'\nrun = ['/bin/true']\nrepetitions = "
                 "5\n[design]\nkind = 'calibration'\n"),
            "p:9:1: all comparisons of a calibration must have the same number of repetitions, but "
            "'c' has 5 and 'b' has 10: set only defaults.repetitions\n");
  EXPECT_EQ(more("repetitions = 1\n[design]\nkind = 'calibration'\n"),
            "p:7:1: a calibration needs at least 2 repetitions, because each repetition is one "
            "block of a comparison\n");
  EXPECT_EQ(more("[design]\nkind = 'calibration'\ncomparisons = 1\n"),
            "p:9:1: 'design.comparisons' must be a whole number from 2 to 10000, not 1\n");
  EXPECT_EQ(more("[design]\ncomparisons = 5\n"),
            "p:8:1: 'design.comparisons' needs kind = \"calibration\": set this kind, or remove "
            "'comparisons'\n");
}

TEST(Calibration, IsNotLargerThanAnyExperimentMayBe) {
  EXPECT_TRUE(more("repetitions = 100000\n[design]\nkind = 'calibration'\ncomparisons = 10000\n")
                  .contains("the plan has 2000000000 trials"));
}

const std::string padding = "[design]\nkind = 'padding-study'\n";

TEST(PaddingStudy, GivesBothArmsTheSameSeeds) {
  const Plan plan = plan_of(padding + opt + seeds);
  EXPECT_FALSE(plan.analysis.log_scale);
  EXPECT_EQ(plan.benchmarks.at(0).repetitions, 3U);
  const Expansion expansion = expand(plan);
  EXPECT_EQ(expansion.trials.size(), 2U * 4 * 3);
  std::map<std::string, std::map<std::string, int>> runs;  // by arm, then seed
  for (const Trial& trial : expansion.trials) ++runs[trial.levels[0].name][trial.levels[1].name];
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs["O2"], runs["O3"]);
  EXPECT_EQ(runs["O2"].size(), 4U);
  for (const auto& [seed, count] : runs["O2"]) EXPECT_EQ(count, 3);
}

TEST(PaddingStudy, NeedsTwoArmsAndSeeds) {
  EXPECT_EQ(more(padding + opt),
            "p:8:1: a padding-study design needs a factor with random = { seeds, runs }, such as "
            "link_order\n");
  EXPECT_EQ(more(padding + seeds),
            "p:8:1: a padding-study design needs exactly one treatment (a factor with two or more "
            "fixed levels), but this plan has 0\n");
  EXPECT_EQ(more(padding + three + seeds),
            "p:9:9: a padding study has two arms, so its treatment must have two levels, but 'opt' "
            "has 3: remove 1 of them\n");
  EXPECT_EQ(more(padding + opt + seeds + "[analysis]\nlog = true\n"),
            "p:14:1: 'analysis.log' must be false in a padding study, which compares plain means: "
            "remove it\n");
  EXPECT_EQ(more(padding + opt + seeds + "[analysis]\nlog = false\nequivalence = '1%'\n"), "");
  EXPECT_EQ(
      more(padding + opt + seeds + "[analysis]\npairs = 'all'\nerror = 'pooled'\n"),
      "p:14:1: 'analysis.pairs' cannot be \"all\", because the two arms of a padding study form "
      "only one pair: remove this key\np:15:1: 'analysis.error' cannot be \"pooled\", because a "
      "padding study compares its arms seed by seed: remove this key\n");
}

const std::string fractional = "[design]\nkind = 'fractional'\n";

TEST(FractionalPlan, RunsAPartOfTheCells) {
  const Plan plan = plan_of(fractional + "resolution = 3\n" + opt + aslr + bytes);
  EXPECT_EQ(plan.design.cells.size(), 4U);
  std::set<std::string> cells;
  for (const auto& cell : expand(plan).cells)
    cells.insert(cell[0].name + " " + cell[1].name + " " + cell[2].name);
  // env_bytes = opt:aslr
  EXPECT_EQ(cells, (std::set<std::string>{"O2 false 64", "O2 true 0", "O3 false 0", "O3 true 64"}));
}

TEST(FractionalPlan, TakesTheGeneratorsThatItIsGiven) {
  const Plan plan =
      plan_of(fractional + "generators = ['opt = aslr:env_bytes']\n" + opt + aslr + bytes);
  ASSERT_EQ(plan.design.generators.size(), 1U);
  EXPECT_EQ(plan.design.generators[0].treatment, 0U);
  EXPECT_EQ(plan.design.generators[0].product, 6U);
  EXPECT_EQ(expand(plan).cells.size(), 4U);
}

TEST(FractionalPlan, NeedsTreatmentsOfTwoLevels) {
  EXPECT_EQ(more(fractional + "resolution = 3\n" + three + aslr + bytes),
            "p:10:9: a fractional design needs treatments with two levels, but 'opt' has 3: remove "
            "levels, or list the cells in a custom design\n");
  EXPECT_EQ(more(fractional + "resolution = 3\n" + opt + aslr),
            "p:8:1: a fractional design needs 3 to 10 treatments, but this plan has 2\n");
}

TEST(FractionalPlan, SaysWhichPartItIs) {
  const std::string factors = opt + aslr + bytes;
  EXPECT_EQ(more(fractional + factors),
            "p:8:1: a fractional design needs 'design.resolution', such as 4, or "
            "'design.generators', such as [\"d = a:b:c\"]\n");
  EXPECT_EQ(
      more(fractional + "resolution = 4\n" + factors),
      "p:9:1: a fractional design of 3 treatments cannot have resolution 4: use a resolution of "
      "at most 3, or a full-factorial design\n");
  EXPECT_EQ(
      more(fractional + "resolution = 3\ngenerators = ['opt = aslr:env_bytes']\n" + factors),
      "p:9:1: 'design.resolution' and 'design.generators' both choose the fraction of the cells: "
      "remove one\n");
  EXPECT_EQ(
      more(fractional + "generators = ['opt = aslr:x']\n" + factors),
      "p:9:1: 'opt = aslr:x' in 'design.generators': 'x' is not a treatment of this plan: write "
      "\"d = a:b:c\"\n");
  EXPECT_EQ(more(fractional + "generators = []\n" + factors),
            "p:9:1: 'design.generators' must list 1 to 9 generators, not 0\n");
  EXPECT_EQ(more("[design]\nresolution = 3\n" + factors),
            "p:8:1: 'design.resolution' needs kind = \"fractional\": set this kind, or remove "
            "'resolution'\n");
}

TEST(FractionalPlan, CellsThatRunTheSameAreAMistake) {
  const std::string problems = problems_of(
      smallest + fractional + "generators = ['env_bytes = code:aslr']\n" + aslr + bytes +
      "[factor.code]\nlevels = [false, true]\n[factor.rerandomize]\nlevels = ['once', "
      "'repeated']\n");
  EXPECT_TRUE(problems.contains("this cell is equivalent to (")) << problems;
}

}  // namespace
}  // namespace stab::plan
