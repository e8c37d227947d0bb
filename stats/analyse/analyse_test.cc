// SPDX-License-Identifier: MIT
// Expected values: make.R. And what becomes of data that is not as it should be.
#include "stats/analyse/analyse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"
#include "stats/verdicts/analysis.h"
#include "stats/verdicts/decide.h"

namespace stab::stats {
namespace {

using oracle::expect_close;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const double nan = std::nan("");

Spec opt_only(Design design = Design::factorial) {
  Spec spec;
  spec.design = design;
  spec.subject = "bench";
  spec.treatments = {"opt"};
  return spec;
}

Dataset six_programs() {
  return oracle::programs(11, {.subjects = 6, .opt = 2, .aslr = 1, .blocks = 5});
}

bool finite(std::optional<double> x) {
  return !x || std::isfinite(*x);
}

// Nothing in a result is NaN or infinite, and a table without p has a note.
void expect_sane(const Analysis& analysis) {
  bool complete = !analysis.effects.empty();
  for (const AnovaTable& table : analysis.tables)
    for (const AnovaRow& row : table.rows)
      EXPECT_TRUE(finite(row.df) && finite(row.ss) && finite(row.ms) && finite(row.f) &&
                  finite(row.p));
  for (const CellMean& mean : analysis.means)
    EXPECT_TRUE(finite(mean.mean) && finite(mean.low) && finite(mean.high) && finite(mean.sd));
  for (const Effect& e : analysis.effects) {
    EXPECT_TRUE(finite(e.ratio) && finite(e.low) && finite(e.high) && finite(e.tost_low) &&
                finite(e.tost_high) && finite(e.p) && finite(e.df));
    complete = complete && e.low && e.p;
  }
  for (const VarianceComponents& c : analysis.components)
    EXPECT_TRUE(finite(c.between) && finite(c.within) && finite(c.p));
  if (!complete) EXPECT_THAT(analysis.notes, Not(IsEmpty()));
}

TEST(Analyse, WithoutBlocksAnEffectIsWelchsOnLogarithms) {
  const Analysis analysis = analyse(six_programs(), opt_only());
  ASSERT_EQ(analysis.effects.size(), 6U);
  const Effect& effect = analysis.effects[0];
  EXPECT_EQ(effect.method, "Welch");
  expect_close(effect.df, 7.55833239695773);
  expect_close(effect.p, 0.0850995043848274);
  expect_close(effect.low, 0.978995184067201);
  expect_close(effect.high, 1.00172188562874);
}

TEST(Analyse, CompleteBlocksArePaired) {
  Spec spec = opt_only();
  spec.block = "block";
  const Effect effect = analyse(six_programs(), spec).effects.at(0);
  expect_close(effect.ratio, 0.990293341290983);
  expect_close(effect.low, 0.977493492309548);
  expect_close(effect.high, 1.00326079868642);
  expect_close(effect.tost_low, 0.980450366882565);
  expect_close(effect.tost_high, 1.00023513166039);
  expect_close(effect.p, 0.105822575000072);
}

TEST(Analyse, MeansAreGeometricWithTheirIntervals) {
  const CellMean mean = analyse(six_programs(), opt_only()).means.at(0);
  EXPECT_EQ(mean.n, 5U);
  EXPECT_EQ(mean.levels, std::vector<std::string>{"O1"});
  expect_close(mean.mean, 196876260.352993);
  expect_close(mean.low, 195225477.441688);
  expect_close(mean.high, 198541001.914859);
  expect_close(mean.sd, 1339370.47799864);
}

TEST(Analyse, OneTermTablesComeForEachSubject) {
  const Analysis analysis = analyse(six_programs(), opt_only());
  ASSERT_EQ(analysis.tables.size(), 6U);
  EXPECT_EQ(analysis.tables[5].subject, "b6");
  EXPECT_EQ(analysis.tables[5].formula, "log(wall) ~ opt");
}

TEST(Analyse, ASignificantInteractionIsNamed) {
  const Dataset data = oracle::programs(7, {.subjects = 1, .opt = 2, .aslr = 3, .blocks = 6});
  Spec spec = opt_only();
  spec.treatments = {"opt", "aslr"};
  spec.block = "block";
  EXPECT_THAT(analyse(data, spec).notes, Contains(HasSubstr("opt:aslr interact")));
}

TEST(Analyse, NoDataGivesNoTablesAndANote) {
  const Analysis analysis = analyse({}, opt_only());
  EXPECT_THAT(analysis.tables, IsEmpty());
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("No trial can be analyzed")));
  expect_sane(analysis);
}

TEST(Analyse, NumbersThatAreNoMeasurementsAreLeftOutAndCounted) {
  Dataset data = six_programs();
  data.response[0] = nan;
  data.response[7] = std::numeric_limits<double>::infinity();
  data.response[12] = 0;
  data.response[13] = -5;
  const Analysis analysis = analyse(data, opt_only(Design::within_subjects));
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("2 of 60 trials have no wall")));
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("2 of 60 trials have a wall of zero or less")));
  EXPECT_EQ(analysis.suite, 6U);
  expect_sane(analysis);
}

TEST(Analyse, OneLevelLeavesNothingToCompare) {
  const Dataset data = oracle::programs(11, {.subjects = 3, .opt = 1, .aslr = 1, .blocks = 5});
  for (const Design design : {Design::factorial, Design::within_subjects, Design::nested}) {
    const Analysis analysis = analyse(data, opt_only(design));
    EXPECT_THAT(analysis.effects, IsEmpty());
    EXPECT_EQ(analysis.means.size(), 3U);
    EXPECT_THAT(analysis.notes, Contains(HasSubstr("nothing to compare")));
    expect_sane(analysis);
  }
}

TEST(Analyse, ALevelWithoutTrialsIsLeftOutOfTheModel) {
  const Dataset all = oracle::programs(11, {.subjects = 4, .opt = 3, .aslr = 1, .blocks = 5});
  const Dataset data =
      oracle::rows_where(all, [&](std::size_t row) { return all.columns[1].codes[row - 1] != 1; });
  const Analysis analysis = analyse(data, opt_only(Design::within_subjects));
  EXPECT_EQ(analysis.suite, 4U);
  EXPECT_EQ(analysis.effects.back().level, "O3");
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("opt O2: left out, because it has no trial")));
  expect_sane(analysis);
}

TEST(Analyse, OneTrialACellHasMeansAndRatiosOnly) {
  const Dataset data = oracle::programs(11, {.subjects = 2, .opt = 2, .aslr = 1, .blocks = 1});
  Spec spec = opt_only();
  spec.block = "block";
  const Analysis analysis = analyse(data, spec);
  ASSERT_EQ(analysis.effects.size(), 2U);
  EXPECT_TRUE(analysis.effects[0].ratio);
  EXPECT_FALSE(analysis.effects[0].low);
  EXPECT_EQ(analysis.effects[0].verdict, Verdict::unsure);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("too few trials")));
  expect_sane(analysis);
  expect_sane(analyse(data, opt_only(Design::within_subjects)));
}

TEST(Analyse, ConstantDataHasNoTest) {
  Dataset data = six_programs();
  for (double& x : data.response) x = 0.1;
  for (const Design design : {Design::factorial, Design::within_subjects}) {
    for (const bool log_scale : {true, false}) {
      Spec spec = opt_only(design);
      spec.log_scale = log_scale;
      const Analysis analysis = analyse(data, spec);
      for (const AnovaTable& table : analysis.tables)
        for (const AnovaRow& row : table.rows) EXPECT_FALSE(row.f) << row.term;
      for (const Effect& effect : analysis.effects) {
        expect_close(effect.ratio, 1);
        EXPECT_EQ(effect.verdict, Verdict::unsure);
      }
      expect_sane(analysis);
    }
  }
}

// The levels differ, the trials of a level do not: rounding must not become an error term.
TEST(Analyse, RoundingIsNoVariation) {
  Dataset data = six_programs();
  for (std::size_t i = 0; i < data.response.size(); ++i)
    data.response[i] =
        1e8 * (1.1 + 0.3 * data.columns[1].codes[i] + 0.7 * data.columns[0].codes[i]);
  Spec spec = opt_only();
  spec.block = "block";
  const Analysis analysis = analyse(data, spec);
  for (const AnovaTable& table : analysis.tables)
    for (const AnovaRow& row : table.rows) EXPECT_FALSE(row.f) << row.term;
  for (const Effect& effect : analysis.effects) {
    EXPECT_EQ(effect.p, 0);
    EXPECT_EQ(effect.low, effect.high);
    EXPECT_EQ(effect.verdict, Verdict::slower);
  }
  expect_sane(analysis);
}

TEST(Analyse, UnknownColumnsAndBadNumbersAreNoted) {
  Spec spec = opt_only();
  spec.treatments = {"opt", "flavour"};
  spec.block = "batch";
  spec.alpha = 2;
  spec.equivalence = -1;
  const Analysis analysis = analyse(six_programs(), spec);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("no column flavour")));
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("no column batch")));
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("alpha of 2")));
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("margin -1")));
  EXPECT_EQ(analysis.spec.treatments, std::vector<std::string>{"opt"});
  EXPECT_EQ(analysis.spec.alpha, 0.05);
  expect_sane(analysis);
}

TEST(Analyse, ColumnsOfUnequalLengthAreRefused) {
  Dataset data = six_programs();
  data.columns[1].codes.pop_back();
  EXPECT_FALSE(data.is_valid());
  const Analysis analysis = analyse(data, opt_only());
  EXPECT_THAT(analysis.means, IsEmpty());
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("do not match each other")));
}

TEST(Analyse, NumbersFarApartStayFinite) {
  Dataset data = six_programs();
  data.response[3] = 1e-300;
  data.response[4] = 1e300;
  for (const bool log_scale : {true, false}) {
    Spec spec = opt_only();
    spec.log_scale = log_scale;
    expect_sane(analyse(data, spec));
    spec.design = Design::within_subjects;
    expect_sane(analyse(data, spec));
  }
}

TEST(Analyse, NegativeResponsesHaveDifferencesButNoRatio) {
  Dataset data = six_programs();
  for (double& x : data.response) x = -x;
  Spec spec = opt_only();
  spec.log_scale = false;
  const Analysis analysis = analyse(data, spec);
  for (const Effect& effect : analysis.effects) {
    EXPECT_FALSE(effect.ratio);
    EXPECT_FALSE(effect.low);
  }
  EXPECT_TRUE(analysis.tables.at(0).rows.at(0).p);
  expect_sane(analysis);
}

// Small random designs with holes, constant stretches and odd numbers, in all designs: nothing may
// come out as NaN.
TEST(Analyse, WhateverTheDataNothingIsNaN) {
  Random random(20240601);
  const double odd[] = {0, -1, 1, 1, 1, 2, 3.5, 1e-9, 1e9, nan, 1e300};
  for (int round = 0; round < 600; ++round) {
    Dataset data;
    data.columns = {oracle::column("bench", 3, "b"), oracle::column("opt", 3, "O"),
                    oracle::column("aslr", 2, "a"), oracle::column("block", 4, "")};
    const std::uint64_t rows = random.below(40);
    for (std::uint64_t i = 0; i < rows; ++i) {
      data.response.push_back(odd[random.below(round % 2 == 0 ? 11 : 7)]);
      for (Column& c : data.columns)
        c.codes.push_back(static_cast<std::uint32_t>(random.below(c.levels.size())));
    }
    Spec spec = opt_only(static_cast<Design>(round % 3));
    spec.treatments = {"opt", "aslr"};
    if (random.below(2) == 0) spec.block = "block";
    if (random.below(2) == 0) spec.subject.clear();
    if (random.below(2) == 0) spec.equivalence = 0.01;
    spec.seed = "block";
    spec.log_scale = random.below(2) == 0;
    SCOPED_TRACE(round);
    expect_sane(analyse(data, spec));
  }
}

TEST(Analyse, AThousandBlocksOfSomeCellsAreQuick) {
  const Dataset all = oracle::programs(3, {.subjects = 1, .opt = 4, .aslr = 4, .blocks = 1000});
  const Dataset data = oracle::without_rows(all, {5, 1000, 15999});
  Spec spec = opt_only();
  spec.treatments = {"opt", "aslr"};
  spec.block = "block";
  const Analysis analysis = analyse(data, spec);
  EXPECT_EQ(analysis.tables.at(0).rows.at(0).df, 996);  // three blocks lack a cell
  EXPECT_EQ(analysis.tables.at(0).rows.back().df, 996 * 9);
  expect_sane(analysis);
}

// Blocks of all cells of three treatments, of which a and b interact. One block lacks a trial.
Dataset cube_that_lost_a_trial() {
  constexpr std::uint32_t blocks = 20;
  Dataset data{.lists_lost = true};
  for (const char* name : {"a", "b", "c"})
    data.columns.push_back({.name = name, .levels = {"off", "on"}, .codes = {}});
  data.columns.push_back({.name = "block", .levels = {}, .codes = {}});
  Random random(41);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    data.columns[3].levels.push_back(std::to_string(block));
    for (std::uint32_t cell = 0; cell < 8; ++cell) {
      const std::vector<std::uint32_t> codes{cell >> 2U, cell >> 1U & 1U, cell & 1U, block};
      if (block == 3 && cell == 6) {
        data.lost.push_back({.codes = codes, .at_least = 900, .at_most = 1100});
        continue;
      }
      for (std::size_t i = 0; i < codes.size(); ++i) data.columns[i].codes.push_back(codes[i]);
      const double both = codes[0] == 1 && codes[1] == 1 ? 1.1 : 1;
      const double noise = static_cast<double>(random.below(1'000'000)) / 1e6 - 0.5;
      data.response.push_back(1000 * both * (1 + 0.03 * noise));
    }
  }
  return data;
}

// Without c, each cell has two trials of a block, whose mean is the mean over c; so the same
// interaction is alone in its family.
TEST(Analyse, BoundsOfAnInteractionHoldForAllThatWereTested) {
  const Dataset data = cube_that_lost_a_trial();
  Spec spec;
  spec.treatments = {"a", "b", "c"};
  spec.block = "block";
  const Analysis three = analyse(data, spec);
  ASSERT_EQ(three.interactions.size(), 4U);
  const Interaction& one_of_four = three.interactions.front();
  ASSERT_EQ(one_of_four.term, "a:b");
  EXPECT_EQ(interplays(three).size(), 1U) << "the others are tested, but not found";
  spec.treatments = {"a", "b"};
  const Analysis two = analyse(data, spec);
  ASSERT_EQ(two.interactions.size(), 1U);
  EXPECT_LT(one_of_four.loss_low.value(), 0.999 * two.interactions[0].loss_low.value());
  EXPECT_GT(one_of_four.loss_high.value(), 1.001 * two.interactions[0].loss_high.value());
  spec.alpha /= 4;
  const Analysis strict = analyse(data, spec);
  EXPECT_NEAR(*one_of_four.loss_low, strict.interactions.at(0).loss_low.value(), 1e-9);
  EXPECT_NEAR(*one_of_four.loss_high, strict.interactions.at(0).loss_high.value(), 1e-9);
}

// The third program lost all trials of one arm but those of two blocks.
TEST(Analyse, AProgramThatTheSuiteLeavesOutHasNoSayAboutItsLosses) {
  Dataset data{.lists_lost = true};
  data.columns = {{.name = "program", .levels = {"one", "two", "three"}, .codes = {}},
                  {.name = "opt", .levels = {"O1", "O2"}, .codes = {}},
                  {.name = "block", .levels = {}, .codes = {}}};
  Random random(7);
  for (std::uint32_t block = 0; block < 10; ++block) {
    data.columns[2].levels.push_back(std::to_string(block));
    for (std::uint32_t program = 0; program < 3; ++program)
      for (std::uint32_t opt = 0; opt < 2; ++opt) {
        const std::vector<std::uint32_t> codes{program, opt, block};
        if (program == 2 && opt == 1 && block > 1) {
          data.lost.push_back({.codes = codes});
          continue;
        }
        for (std::size_t i = 0; i < codes.size(); ++i) data.columns[i].codes.push_back(codes[i]);
        const double noise = static_cast<double>(random.below(1'000'000)) / 1e6 - 0.5;
        data.response.push_back(1000 * (opt == 1 ? 0.9 : 1) * (1 + 0.01 * noise));
      }
  }
  Spec spec = opt_only(Design::within_subjects);
  spec.subject = "program";
  spec.block = "block";
  spec.programs = Programs::these;
  const Analysis analysis = analyse(data, spec);
  EXPECT_EQ(analysis.suite, 2U);
  std::size_t suites = 0;
  for (const Effect& each : analysis.effects) {
    if (each.subject == "three") EXPECT_TRUE(each.loss_bounds);
    if (each.scope == Scope::subject) continue;
    ++suites;
    EXPECT_FALSE(each.loss_bounds);
    if (each.scope == Scope::these) EXPECT_EQ(each.verdict, Verdict::faster);
  }
  EXPECT_EQ(suites, 2U);
}

TEST(Analyse, LostTrialsBoundTheMeanOfTheirCell) {
  Dataset data{.response = {2, 8, 3, 3}, .lists_lost = true};
  data.columns = {{.name = "bench", .levels = {"p"}, .codes = {0, 0, 0, 0}},
                  {.name = "opt", .levels = {"a", "b"}, .codes = {0, 0, 1, 1}}};
  Spec spec = opt_only();
  const Analysis complete = analyse(data, spec);
  ASSERT_EQ(complete.means.size(), 2U);
  EXPECT_EQ(complete.means[0].lost, 0U);
  EXPECT_EQ(complete.means[0].loss_low, std::nullopt);
  data.lost = {{.codes = {0, 0}, .at_least = 32}};
  const CellMean timeout = analyse(data, spec).means[0];
  EXPECT_EQ(timeout.lost, 1U);
  EXPECT_NEAR(timeout.mean, 4, 1e-9);
  EXPECT_NEAR(timeout.loss_low.value_or(0), 8, 1e-9) << "the third root of 2 * 8 * 32";
  EXPECT_EQ(timeout.loss_high, std::nullopt);
  EXPECT_EQ(analyse(data, spec).means[1].lost, 0U);
  data.lost = {{.codes = {0, 0}, .at_most = 32}};
  EXPECT_EQ(analyse(data, spec).means[0].loss_low, std::nullopt);
  EXPECT_NEAR(analyse(data, spec).means[0].loss_high.value_or(0), 8, 1e-9);
  data.lost = {{.codes = {0, 0}, .excluded = true}};
  const CellMean excluded = analyse(data, spec).means[0];
  EXPECT_NEAR(excluded.loss_low.value_or(0), std::cbrt(2 * 8 * 2), 1e-9);
  EXPECT_NEAR(excluded.loss_high.value_or(0), std::cbrt(2 * 8 * 8), 1e-9);
  data.lost = {{.codes = {0, 0}}};
  EXPECT_EQ(analyse(data, spec).means[0].loss_high, std::nullopt);
  spec.losses = Losses::random;
  EXPECT_EQ(analyse(data, spec).means[0].loss_low, timeout.mean);
  EXPECT_EQ(analyse(data, spec).means[0].loss_high, timeout.mean);
  EXPECT_EQ(analyse(data, spec).means[0].loss_interval_low, timeout.low);
  EXPECT_EQ(analyse(data, spec).means[0].loss_interval_high, timeout.high);
}

// An end that is far from the other one needs a one-sided quantile, and two equal ends are one mean.
TEST(Analyse, ARangeOfMeansHasAnInterval) {
  Dataset data{.response = {10, 11, 12, 10, 11}, .lists_lost = true};
  data.columns = {{.name = "bench", .levels = {"p"}, .codes = {0, 0, 0, 0, 0}},
                  {.name = "opt", .levels = {"a"}, .codes = {0, 0, 0, 0, 0}}};
  Spec spec = opt_only();
  spec.log_scale = false;
  // As R: x <- c(10, 11, 12, 10, 11, 20); mean(x) - qt(0.95, 5) * sd(x) / sqrt(6)
  data.lost = {{.codes = {0, 0}, .at_least = 20}};
  const CellMean timeout = analyse(data, spec).means[0];
  EXPECT_NEAR(timeout.loss_low.value_or(0), 74.0 / 6, 1e-12);
  EXPECT_NEAR(timeout.loss_interval_low.value_or(0), 9.182861784, 1e-8);
  EXPECT_EQ(timeout.loss_interval_high, std::nullopt);
  // As R: x[6] <- 11; t.test(x)$conf.int
  data.lost = {{.codes = {0, 0}, .at_least = 11, .at_most = 11}};
  const CellMean known = analyse(data, spec).means[0];
  EXPECT_NEAR(known.loss_interval_low.value_or(0), 10.04334688, 1e-7);
  EXPECT_NEAR(known.loss_interval_high.value_or(0), 11.62331978, 1e-7);
  // Between these two cases: as R's root of pt(-c, 5) + pt(-c - gap, 5) = 0.05.
  data.lost = {{.codes = {0, 0}, .at_least = 11, .at_most = 13}};
  const CellMean range = analyse(data, spec).means[0];
  EXPECT_NEAR(range.loss_interval_low.value_or(0), 10.12668814, 1e-7);
  EXPECT_NEAR(range.loss_interval_high.value_or(0), 12.26407657, 1e-7);
}

}  // namespace
}  // namespace stab::stats
