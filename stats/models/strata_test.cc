// SPDX-License-Identifier: MIT
// Expected values: make.R.
#include "stats/models/strata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "stats/analyse/analyse.h"
#include "stats/data/terms.h"
#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {
namespace {

using oracle::expect_close;
using testing::Contains;
using testing::HasSubstr;

Dataset two_by_three() {
  return oracle::programs(7, {.subjects = 1, .opt = 2, .aslr = 3, .blocks = 6});
}

Analysis blocked(const Dataset& data, std::vector<std::string> treatments = {"opt", "aslr"}) {
  Spec spec;
  spec.treatments = std::move(treatments);
  spec.block = "block";
  return analyse(data, spec);
}

const AnovaRow& row_of(const AnovaTable& table, const std::string& term) {
  const auto row = std::ranges::find(table.rows, term, &AnovaRow::term);
  EXPECT_NE(row, table.rows.end()) << term;
  return *row;
}

TEST(Strata, EachTermIsTestedAgainstItsOwnInteractionWithTheBlocksAsInR) {
  ASSERT_EQ(oracle::sum(two_by_three().response), 7183030015);
  const AnovaTable table = blocked(two_by_three()).tables.at(0);
  EXPECT_EQ(table.formula, "log(wall) ~ opt * aslr + Error(block/(opt * aslr))");
  expect_close(row_of(table, "opt").f, 302.55479806557);
  expect_close(row_of(table, "opt").p, 1.15089560088631e-05, 1e-7);
  expect_close(row_of(table, "aslr").f, 36.8210735435804);
  expect_close(row_of(table, "opt:aslr").f, 28.973886016843);
  expect_close(row_of(table, "opt:aslr").ss, 0.00123819622347063);
}

TEST(Strata, EpsilonAndItsPAreThoseOfCar) {
  const AnovaTable table = blocked(two_by_three()).tables.at(0);
  EXPECT_FALSE(row_of(table, "opt").epsilon);
  expect_close(row_of(table, "aslr").epsilon, 0.911309665184640);
  expect_close(row_of(table, "aslr").p, 5.17115002346207e-05, 1e-7);
  expect_close(row_of(table, "opt:aslr").epsilon, 0.917842366652205);
  expect_close(row_of(table, "opt:aslr").p, 1.27246248048207e-04, 1e-7);
}

TEST(Strata, ChangesArePairedTestsOfTheBlocksAsInR) {
  const Analysis analysis = blocked(two_by_three());
  ASSERT_EQ(analysis.effects.size(), 3U);
  const double expected[3][4] = {
      {0.969346323724249, 0.964896577889192, 0.973816590139905, 1.15089560088627e-05},
      {1.00407393493917, 0.998419988086926, 1.00975989949477, 0.123427658537776},
      {1.02102356235996, 1.01430545827738, 1.02778616282388, 0.000464577802786338}};
  for (std::size_t i = 0; i < 3; ++i) {
    expect_close(analysis.effects[i].ratio, expected[i][0]);
    expect_close(analysis.effects[i].low, expected[i][1]);
    expect_close(analysis.effects[i].high, expected[i][2]);
    expect_close(analysis.effects[i].p, expected[i][3], 1e-7);
    EXPECT_EQ(analysis.effects[i].unit, "block");
    EXPECT_EQ(analysis.effects[i].units, 6U);
  }
}

// Five copies of each trial say nothing that one did not say.
TEST(Strata, ReplicatesInsideABlockAreOneNumber) {
  const Dataset once = two_by_three();
  Dataset data = once;
  for (int copy = 0; copy < 4; ++copy) {
    data.response.insert(data.response.end(), once.response.begin(), once.response.end());
    for (std::size_t c = 0; c < data.columns.size(); ++c)
      data.columns[c].codes.insert(data.columns[c].codes.end(), once.columns[c].codes.begin(),
                                   once.columns[c].codes.end());
  }
  const Analysis one = blocked(once);
  const Analysis five = blocked(data);
  for (std::size_t i = 0; i < one.effects.size(); ++i) {
    expect_close(five.effects[i].p, *one.effects[i].p, 1e-6);
    expect_close(five.effects[i].low, *one.effects[i].low);
  }
  expect_close(row_of(five.tables[0], "aslr").f, *row_of(one.tables[0], "aslr").f);
}

TEST(Strata, ABlockCountsForAComparisonIfItIsCompleteForIt) {
  const Dataset data = oracle::without_rows(two_by_three(), {3});  // opt 1, aslr 3 of block 1
  const Analysis analysis = blocked(data);
  EXPECT_EQ(analysis.effects[0].units, 5U);  // opt needs all cells
  EXPECT_EQ(analysis.effects[1].units, 6U);  // aslr 2 against 1 does not
  EXPECT_EQ(analysis.effects[2].units, 5U);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("1 of 6 blocks lack a cell")));
}

TEST(Strata, WithFewerBlocksThanLevelsThereIsNoOverallF) {
  const Dataset data = oracle::programs(7, {.subjects = 1, .opt = 4, .aslr = 1, .blocks = 3});
  const Analysis analysis = blocked(data, {"opt"});
  EXPECT_FALSE(row_of(analysis.tables.at(0), "opt").f);
  for (const Effect& effect : analysis.effects) EXPECT_TRUE(effect.p);
}

TEST(Strata, OneBlockTestsNothing) {
  const Analysis analysis =
      blocked(oracle::programs(7, {.subjects = 1, .opt = 2, .aslr = 1, .blocks = 1}), {"opt"});
  EXPECT_FALSE(analysis.effects.at(0).p);
  EXPECT_EQ(analysis.effects.at(0).verdict, Verdict::unsure);
}

// Cells that a design does not list are no cells: the main effects are adjusted for each other.
TEST(Strata, AListOfCellsHasTheTermsThatItsCellsTell) {
  const std::vector<std::size_t> shape{2, 2};
  const std::vector<std::size_t> cells{0, 1, 2};  // not the last one
  const auto terms = all_terms(shape, 2);
  std::vector<Moments> table;
  oracle::Generator random(5);
  for (int i = 0; i < 30; ++i) table.push_back({.n = 1, .mean = random.noise()});
  const auto strata = strata_of(shape, cells, terms, table, 0);
  ASSERT_TRUE(strata);
  ASSERT_EQ(strata->terms.size(), 2U);
  Moments difference;  // of the second level of the first treatment, at the first of the second
  for (std::size_t u = 0; u < 10; ++u) difference.add(table[3 * u + 2].mean - table[3 * u].mean);
  const double t2 = difference.mean * difference.mean / (*difference.variance() / 10);
  const StratumTerm& first = strata->terms[0];
  EXPECT_NEAR(first.ss / (first.error_ss / first.error_df), t2, 1e-9 * t2);
}

TEST(Strata, AllPairsOfLevelsOnRequest) {
  Spec spec;
  spec.treatments = {"aslr"};
  spec.block = "block";
  spec.all_pairs = true;
  const Analysis analysis = analyse(two_by_three(), spec);
  ASSERT_EQ(analysis.effects.size(), 3U);
  EXPECT_EQ(analysis.effects[2].baseline, analysis.effects[0].level);
}

// The layouts of a block are those of all programs in it, so a block is one number for them all.
TEST(Strata, TheseProgramsTogetherHaveTheirBlocksForUnits) {
  Spec spec;
  spec.design = Design::within_subjects;
  spec.programs = Programs::these;
  spec.subject = "bench";
  spec.block = "block";
  spec.treatments = {"opt"};
  const Dataset data = oracle::programs(11, {.subjects = 6, .opt = 2, .aslr = 1, .blocks = 5});
  const Analysis analysis = analyse(data, spec);
  const Effect& these = analysis.effects.at(6);
  EXPECT_EQ(these.scope, Scope::these);
  EXPECT_EQ(these.units, 5U);
  Moments blocks;
  for (std::size_t b = 0; b < 5; ++b) {
    double sum = 0;
    for (std::size_t s = 0; s < 6; ++s)
      sum += std::log(data.response[s * 10 + 2 * b + 1] / data.response[s * 10 + 2 * b]);
    blocks.add(sum / 6);
  }
  expect_close(these.ratio, std::exp(blocks.mean));
  const auto interval = mean_interval(blocks, 0.05);
  expect_close(these.low, std::exp(interval->low));
  EXPECT_EQ(analysis.tables.at(0).formula, "log(wall) ~ opt + Error(block/opt)");
  EXPECT_EQ(analysis.tables.at(1).formula, "log(wall) ~ opt + Error(bench/opt)");
}

// Two subjects in two blocks each, whose differences cancel in every margin: chance, not exactness.
TEST(Strata, ProgramsWhoseMeansAgreeByChanceAreNotExact) {
  Dataset data;
  data.columns = {oracle::column("bench", 2, "b"), oracle::column("block", 2, "k"),
                  oracle::column("opt", 2, "O")};
  const double differences[2][2] = {{0, 2}, {2, 0}};
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::uint32_t levels[3] = {i / 4, i / 2 % 2, i % 2};
    data.response.push_back(100 + (levels[2] == 1 ? differences[levels[0]][levels[1]] : 0));
    for (std::size_t c = 0; c < 3; ++c) data.columns[c].codes.push_back(levels[c]);
  }
  Spec spec;
  spec.design = Design::within_subjects;
  spec.subject = "bench";
  spec.block = "block";
  spec.treatments = {"opt"};
  spec.log_scale = false;
  for (const Effect& effect : analyse(data, spec).effects)
    EXPECT_EQ(effect.verdict, Verdict::unsure) << static_cast<int>(effect.scope);
}

TEST(Strata, TwoEqualDifferencesAreNotExact) {
  const Dataset all = oracle::programs(7, {.subjects = 1, .opt = 2, .aslr = 1, .blocks = 2});
  Dataset data = all;
  data.response = {10, 11, 14, 15};
  Spec spec;
  spec.treatments = {"opt"};
  spec.block = "block";
  spec.log_scale = false;
  EXPECT_EQ(analyse(data, spec).effects.at(0).verdict, Verdict::unsure);
}

// A block's layouts are those of all programs that ran in it, so programs that share some of their
// blocks are not independent.
TEST(Strata, OfProgramsThatShareSomeBlocksOnlyNothingIsSaidTogether) {
  Dataset data = oracle::programs(11, {.subjects = 3, .opt = 2, .aslr = 1, .blocks = 6});
  Column& block = data.columns[3];
  for (int i = 0; i < 6; ++i) block.levels.push_back("later" + std::to_string(i));
  for (std::size_t row = 0; row < data.response.size(); ++row)
    if (data.columns[0].codes[row] == 2) block.codes[row] += 6;  // the third program's own
  Spec spec;
  spec.design = Design::within_subjects;
  spec.subject = "bench";
  spec.block = "block";
  spec.treatments = {"opt"};
  const Analysis analysis = analyse(data, spec);
  for (const Effect& effect : analysis.effects)
    if (effect.scope != Scope::subject) EXPECT_FALSE(effect.p);
}

TEST(Strata, AProgramThatLostMostBlocksDoesNotTakeThemFromTheOthers) {
  Dataset data = oracle::programs(11, {.subjects = 4, .opt = 2, .aslr = 1, .blocks = 10});
  for (std::size_t row = 0; row < data.response.size(); ++row)
    if (data.columns[0].codes[row] == 3 && data.columns[3].codes[row] > 1)
      data.response[row] = std::nan("");
  Spec spec;
  spec.design = Design::within_subjects;
  spec.subject = "bench";
  spec.block = "block";
  spec.treatments = {"opt"};
  const Analysis analysis = analyse(data, spec);
  EXPECT_EQ(analysis.suite, 3U);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("has only 2 complete blocks")));
}

}  // namespace
}  // namespace stab::stats
