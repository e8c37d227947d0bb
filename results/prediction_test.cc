// SPDX-License-Identifier: MIT
#include "results/prediction.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plan/reading/testing.h"

namespace stab::results::prediction {
namespace {

const std::string two_benchmarks = R"([experiment]
name = "x"
[defaults]
repetitions = 12
[[benchmark]]
name = "a"
build = "szc ${X} -o ${OUT} a.c ${LDFLAGS}"
run = ["${OUT}"]
[[benchmark]]
name = "b"
build = "szc ${X} -o ${OUT} b.c ${LDFLAGS}"
run = ["${OUT}"]
repetitions = 4
[variables]
X = ""
)";
const std::string three =
    "[factor.x]\nlevels = { p = { X = '' }, q = { X = '-g' }, r = { X = '-O' } }\n";
const std::string two = "[factor.x]\nlevels = { p = { X = '' }, q = { X = '-g' } }\n";
const std::string aslr = "[factor.aslr]\nlevels = [false, true]\n";
const std::string bytes = "[factor.env_bytes]\nlevels = [0, 64]\n";

// "scope: comparisons, benchmark units/df ...; more", a line a family.
std::string families_of(const std::string& more, const std::string& benchmarks = two_benchmarks) {
  std::string text;
  for (const Family& family : families(plan::good_plan(benchmarks + more))) {
    text += fmt::format("{}: {},", static_cast<int>(family.scope), family.comparisons);
    for (const OwnError& error : family.errors)
      text += fmt::format(" {} {}/{}", error.benchmark, error.units, error.df);
    text += fmt::format("; {}\n", family.more);
  }
  return text;
}

TEST(Families, AreAllComparisonsOfAllBenchmarks) {
  EXPECT_EQ(families_of(three + aslr), "0: 6, a 12/11 b 4/3; repetitions\n");
  EXPECT_EQ(families_of(three + aslr + "[analysis]\npairs = 'all'\n"),
            "0: 8, a 12/11 b 4/3; repetitions\n");
}

TEST(Families, LeaveTheControlOut) {
  const std::string control = three + "[design]\nkind = 'one-way'\n[analysis]\ncontrol = 'r'\n";
  EXPECT_EQ(families_of(control), "0: 2, a 12/11 b 4/3; repetitions\n");
}

TEST(Families, WithAPooledErrorHaveTheDegreesOfFreedomOfAllCells) {
  EXPECT_EQ(families_of(three + aslr + "[analysis]\nerror = 'pooled'\n"),
            "0: 6, a 12/55 b 4/15; repetitions\n");
}

TEST(Families, WithinSubjectsAreThreeAndTheDecidingOneIsFirst) {
  const std::string within = two + aslr + "[design]\nkind = 'within-subjects'\n";
  const std::string these = "1: 2,  4/3; repetitions\n";
  const std::string like_these = "2: 2,  2/1; benchmarks\n";
  const std::string each = "0: 4, a 12/11 b 4/3; repetitions\n";
  EXPECT_EQ(families_of(within), like_these + these + each);
  EXPECT_EQ(families_of(within + "[analysis]\nprograms = 'these'\n"), these + like_these + each);
}

const std::string seeds =
    "[factor.link_order]\nrandom = { seeds = 5, runs = 3 }\n[design]\nkind = ";

TEST(Families, OfWhatTakesTurnsHaveTheBlocksOfItsSets) {
  const std::string sets =
      "[measure]\nrotate = [['cycles', 'cs'], ['cs']]\n[analysis]\nresponse = ";
  EXPECT_EQ(families_of(two + sets + "'cycles'\n"), "0: 2, a 6/5 b 2/1; repetitions\n");
  EXPECT_EQ(families_of(two + sets + "'cs'\n"), "0: 2, a 12/11 b 4/3; repetitions\n");
  const std::string within = "[design]\nkind = 'within-subjects'\n";
  EXPECT_EQ(families_of(two + sets + "'cycles'\nprograms = 'these'\n" + within),
            "1: 1,  2/1; repetitions\n2: 1,  2/1; benchmarks\n0: 2, a 6/5 b 2/1; repetitions\n");
}

TEST(Families, OfSeedsHaveTheirDegreesOfFreedom) {
  const auto one = [](const std::string& kind) {
    return families_of(two + seeds + kind,
                       "[experiment]\nname = 'x'\n[variables]\nX = ''\n[[benchmark]]\nname = 'a'\n"
                       "build = 'szc ${X} -o ${OUT} a.c ${LDFLAGS}'\nrun = ['${OUT}']\n");
  };
  EXPECT_EQ(one("'nested'\n"), "0: 1, a 5/8; seeds\n");
  EXPECT_EQ(one("'padding-study'\n"), "0: 1, a 5/4; seeds\n");
}

TEST(Families, AreNoneWithoutComparisons) {
  const std::string plain = "[experiment]\nname = 'x'\n[[benchmark]]\nname = 'a'\nrun = ['a']\n";
  EXPECT_EQ(families_of("", plain), "");
  EXPECT_EQ(families_of("[design]\nkind = 'calibration'\n", plain), "");
}

TEST(Families, OnSeveralMachinesHaveTheirBlocksAndTheMachines) {
  const std::string one =
      "[experiment]\nname = 'x'\n[variables]\nX = ''\n[defaults]\nrepetitions = 10\n[[benchmark]]\n"
      "name = 'a'\nbuild = 'szc ${X} -o ${OUT} a.c ${LDFLAGS}'\nrun = ['${OUT}']\n";
  const std::string nodes = "[machines]\nengine = 'slurm'\nnodes = 3\n";
  const std::string these = "1: 2,  30/27; repetitions\n";
  const std::string like_these = "2: 2,  3/2; nodes\n";
  const std::string each = "0: 6,  10/9; repetitions\n";
  EXPECT_EQ(families_of(three + nodes, one), these + like_these + each);
  EXPECT_EQ(families_of(three + nodes + "answer = 'like-these'\n", one), like_these + these + each);
  EXPECT_EQ(families_of(three + nodes), "0: 4, a 36/35 b 12/11; repetitions\n");
}

TEST(OnMachines, MoreOfThemFindSmallerChanges) {
  const std::string one =
      "[experiment]\nname = 'x'\n[[benchmark]]\nname = 'a'\nrun = ['a']\n[factor.aslr]\nlevels = "
      "[false, true]\n[analysis]\nequivalence = '1%'\n";
  const std::string nodes = "[machines]\nengine = 'slurm'\nnodes = 3\n";
  Variation variation;
  variation.own[{.scope = stats::Scope::like_these, .benchmark = "", .treatment = "aslr"}] = 0.01;
  const auto all = on_machines(plan::good_plan(one + nodes), variation);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].treatment, "aslr");
  EXPECT_EQ(all[0].sd, 0.01);
  ASSERT_EQ(all[0].smallest.size(), 4U);
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_LT(all[0].smallest[i].change, all[0].smallest[i - 1].change);
  // It lies between those of the numbers of machines whose smallest changes enclose the margin.
  EXPECT_GT(all[0].smallest[2].change, 0.01);
  EXPECT_LT(all[0].smallest[3].change, 0.01);
  ASSERT_TRUE(all[0].needed);
  EXPECT_GT(*all[0].needed, all[0].smallest[2].machines);
  EXPECT_LE(*all[0].needed, all[0].smallest[3].machines);
  EXPECT_TRUE(on_machines(plan::good_plan(one + nodes), {}).empty());
  EXPECT_TRUE(on_machines(plan::good_plan(one), variation).empty());
}

std::string cells_of(const std::string& more) {
  std::string text;
  for (const Comparison& each : comparisons_of(plan::good_plan(two_benchmarks + more)))
    text += fmt::format("{}:{}-{} {}, ", each.treatment, each.base, each.level, each.cells);
  return text;
}

TEST(Comparisons, AverageOverTheOtherTreatments) {
  EXPECT_EQ(cells_of(three + aslr), "0:0-1 2, 0:0-2 2, 1:0-1 3, ");
  EXPECT_EQ(cells_of(two + aslr + bytes + "[design]\nkind = 'fractional'\nresolution = 3\n"),
            "0:0-1 2, 1:0-1 2, 2:0-1 2, ");
}

TEST(Comparisons, OfListedCellsNeedPairsOfThem) {
  EXPECT_EQ(cells_of(three + aslr +
                     "[design]\nkind = 'custom'\ncells = [ { x = 'p', aslr = false }, { x = 'q', "
                     "aslr = false }, { x = 'q', aslr = true }, { x = 'r', aslr = true } ]\n"),
            "0:0-1 1, 1:0-1 1, ");
}

}  // namespace
}  // namespace stab::results::prediction
