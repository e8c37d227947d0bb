// SPDX-License-Identifier: MIT
// Expected values: make.R.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stats/analyse/analyse.h"
#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {
namespace {

using oracle::expect_close;
using oracle::expect_table;
using testing::Contains;
using testing::HasSubstr;

Spec within(std::vector<std::string> treatments) {
  Spec spec;
  spec.design = Design::within_subjects;
  spec.subject = "bench";
  spec.treatments = std::move(treatments);
  return spec;
}

Dataset six_programs() {
  return oracle::programs(11, {.subjects = 6, .opt = 2, .aslr = 1, .blocks = 5});
}

TEST(Within, AllRunsAgreeWithRsErrorStrata) {
  ASSERT_EQ(oracle::sum(six_programs().response), 30009863845);
  const Analysis analysis = analyse(six_programs(), within({"opt"}));
  ASSERT_EQ(analysis.tables.size(), 1U);
  EXPECT_EQ(analysis.suite, 6U);
  EXPECT_EQ(analysis.tables[0].formula, "log(wall) ~ opt + Error(bench/opt)");
  expect_table(analysis.tables[0],
               {{"bench", "Residuals", 5, 14.0288669397366},
                {"bench:opt", "opt", 1, 0.00952311400579276, 26.4224680723745, 0.00364448080215459},
                {"bench:opt", "Residuals", 5, 0.00180208638718149},
                {"Within", "Residuals", 48, 0.00265545303292491}});
}

// R: aov(log(wall) ~ opt + bench), which takes the runs of six programs for 53 independent
// programs: F = 113 and p = 9e-15 in place of F = 26 and p = 0.004.
TEST(Within, PoolingTheResidualsOfRunsWouldGiveAnotherF) {
  const AnovaTable table = analyse(six_programs(), within({"opt"})).tables.at(0);
  const AnovaRow& opt = table.rows.at(1);
  const AnovaRow& between = table.rows.at(2);
  const AnovaRow& runs = table.rows.at(3);
  const double pooled = *opt.ms / ((between.ss + runs.ss) / (between.df + runs.df));
  expect_close(pooled, 113.229518516516);
  EXPECT_LT(*opt.f, pooled / 4);
}

TEST(Within, TheSuitesRatioIsThatOfAPairedTestOverPrograms) {
  const Analysis analysis = analyse(six_programs(), within({"opt"}));
  ASSERT_EQ(analysis.effects.size(), 8U);
  const Effect& suite = analysis.effects[6];
  EXPECT_EQ(suite.scope, Scope::like_these);
  EXPECT_EQ(suite.subject, "");
  EXPECT_EQ(suite.method, "bench:opt");
  expect_close(suite.ratio, 0.975118076286389);
  expect_close(suite.low, 0.962908164759627);
  expect_close(suite.high, 0.987482812483819);
  expect_close(suite.p, 0.00364448080215428);
  EXPECT_EQ(suite.verdict, Verdict::faster);
}

TEST(Within, ThePapersShapeAgreesWithR) {
  const Dataset data = oracle::programs(5, {.subjects = 18, .opt = 2, .aslr = 1, .blocks = 30});
  ASSERT_EQ(oracle::sum(data.response), 610407663643);
  expect_table(analyse(data, within({"opt"})).tables.at(0),
               {{"bench", "Residuals", 17, 326.29207363408},
                {"bench:opt", "opt", 1, 0.288404910172716, 86.006898504646, 4.61884370306924e-08},
                {"bench:opt", "Residuals", 17, 0.0570057002191671},
                {"Within", "Residuals", 1044, 0.0544648703468472}});
}

TEST(Within, TwoTreatmentsHaveEachTheirOwnStratum) {
  const Dataset data = oracle::programs(23, {.subjects = 5, .opt = 2, .aslr = 3, .blocks = 4});
  ASSERT_EQ(oracle::sum(data.response), 59887872994);
  Spec spec = within({"opt", "aslr"});
  spec.log_scale = false;
  const Analysis analysis = analyse(data, spec);
  ASSERT_EQ(analysis.tables.size(), 1U);
  EXPECT_EQ(analysis.tables[0].formula, "wall ~ opt * aslr + Error(bench/(opt * aslr))");
  expect_table(analysis.tables[0],
               {{"bench", "Residuals", 4, 7.9512815837048e+18},
                {"bench:opt", "opt", 1, 7.2982931704254e+15, 12.0563524473568, 0.0255318432103773},
                {"bench:opt", "Residuals", 4, 2.42139343629605e+15},
                {"bench:aslr", "aslr", 2, 2.75185343578604e+15, 6.07798386609494},
                {"bench:aslr", "Residuals", 8, 1.81103043141448e+15},
                {"bench:opt:aslr", "opt:aslr", 2, 210703025276195, 0.877740692291901},
                {"bench:opt:aslr", "Residuals", 8, 960206252833147},
                {"Within", "Residuals", 90, 2.28952825295461e+15}});
  // On the raw scale the effects of two levels have the p of their F.
  const auto suite =
      std::ranges::find_if(analysis.effects, [](const Effect& e) { return e.subject.empty(); });
  ASSERT_NE(suite, analysis.effects.end());
  expect_close(suite->p, 0.0255318432103773);
  EXPECT_LT(*suite->high, 1);
}

// R: aov() of the table of cell means; all sums of squares are times the harmonic mean 4.615.
TEST(Within, LostTrialsLeaveTheFOfTheCellMeansAndANote) {
  const Dataset data = oracle::without_rows(six_programs(), {4, 18, 19, 33});
  const Analysis analysis = analyse(data, within({"opt"}));
  const AnovaTable& table = analysis.tables.at(0);
  ASSERT_EQ(table.rows.size(), 4U);
  expect_close(table.rows[1].f, 22.0257477019942);
  expect_close(table.rows[1].p, 0.00536987972848687);
  expect_close(table.rows[2].ss, 4.61538461538461 * 0.00042012803260498);
  EXPECT_EQ(table.rows[3].df, 44);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("unequal numbers of trials")));
}

TEST(Within, AProgramThatLacksACellIsLeftOutWithANote) {
  const Dataset all = six_programs();
  const Dataset data = oracle::rows_where(all, [&](std::size_t row) {
    return all.columns[0].codes[row - 1] != 2 || all.columns[1].codes[row - 1] != 1;
  });
  const Analysis analysis = analyse(data, within({"opt"}));
  EXPECT_EQ(analysis.suite, 5U);
  EXPECT_EQ(analysis.tables.at(0).rows.at(1).term, "opt");
  EXPECT_EQ(analysis.tables.at(0).rows.at(2).df, 4);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("b3: left out of the model of all benchs")));
}

TEST(Within, OneProgramIsAnalysedByItselfWithANote) {
  const Dataset data = oracle::programs(11, {.subjects = 1, .opt = 2, .aslr = 1, .blocks = 5});
  Spec spec = within({"opt"});
  spec.block = "block";
  const Analysis analysis = analyse(data, spec);
  EXPECT_EQ(analysis.suite, 0U);
  ASSERT_EQ(analysis.tables.size(), 1U);
  EXPECT_EQ(analysis.tables[0].subject, "b1");
  EXPECT_EQ(analysis.tables[0].formula, "log(wall) ~ opt + Error(block/opt)");
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("needs two")));
}

}  // namespace
}  // namespace stab::stats
