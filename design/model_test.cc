// SPDX-License-Identifier: MIT
#include "design/model.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "base/random.h"
#include "plan/reading/testing.h"

namespace stab::plan {
namespace {

using testing::ElementsAre;
using Cells = std::vector<std::vector<std::size_t>>;

Cells full(const std::vector<std::size_t>& levels) {
  Cells cells{{}};
  for (const std::size_t count : levels) {
    Cells longer;
    for (const auto& cell : cells)
      for (std::size_t level = 0; level < count; ++level) {
        longer.push_back(cell);
        longer.back().push_back(level);
      }
    cells = longer;
  }
  return cells;
}

TEST(Rank, AFullFactorialHasTheProducts) {
  const SequentialDf found = sequential_df(full({3, 2, 4}), {1, 2, 4, 3, 5, 6, 7});
  EXPECT_THAT(found.df, ElementsAre(2, 1, 3, 2, 6, 3, 6));
  EXPECT_EQ(found.rest, 0);
}

// Two factors without a common cell: a main effect is lost for each further component of the cell
// graph.
TEST(Rank, DisconnectedCellsLoseADegree) {
  const Cells cells{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 2}, {2, 3}, {3, 2}, {3, 3}};
  EXPECT_THAT(sequential_df(cells, {1, 2, 3}).df, ElementsAre(3, 2, 2));
}

// A 3 x 3 Latin square: three factors in nine cells.
TEST(Rank, ALatinSquareLeavesTwoForTheInteractions) {
  const Cells cells{{0, 0, 0}, {0, 1, 1}, {0, 2, 2}, {1, 0, 1}, {1, 1, 2},
                    {1, 2, 0}, {2, 0, 2}, {2, 1, 0}, {2, 2, 1}};
  EXPECT_THAT(sequential_df(cells, {1, 2, 4, 3, 5, 6, 7}).df, ElementsAre(2, 2, 2, 2, 0, 0, 0));
}

// A half fraction of 2^3: each main effect is an interaction of the other two.
TEST(Rank, AHalfFractionHasMainEffectsOnly) {
  const Cells cells{{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}};
  EXPECT_THAT(sequential_df(cells, {1, 2, 4, 3, 5, 6, 7}).df, ElementsAre(1, 1, 1, 0, 0, 0, 0));
}

TEST(Rank, TheDegreesOfFreedomNeverExceedTheCells) {
  Random random(3);
  Cells cells = full({4, 5, 3, 3});
  random.shuffle(std::span(cells));
  cells.resize(60);
  std::vector<std::uint32_t> terms(15);
  std::iota(terms.begin(), terms.end(), 1U);
  const SequentialDf found = sequential_df(cells, terms);
  EXPECT_EQ(std::accumulate(found.df.begin(), found.df.end(), found.rest), 59);
}

// A thousand cells in which ten factors copy each other in pairs: bounded work, nothing lost.
TEST(Rank, WhatWouldTakeTooLongIsLumpedTogether) {
#if __has_feature(address_sanitizer)
  constexpr int factors = 13;
#else
  constexpr int factors = 16;
#endif
  Random random(4);
  Cells cells;
  for (std::size_t i = 0; i < 1000; ++i) {
    std::vector<std::size_t> cell;
    for (int factor = 0; factor < factors; ++factor)
      cell.push_back(factor == 0 ? i / 500 : i >> (factor % 10) & 1);
    cells.push_back(cell);
  }
  std::vector<std::uint32_t> terms((1U << factors) - 1);
  std::iota(terms.begin(), terms.end(), 1U);
  const SequentialDf found = sequential_df(cells, terms);
  EXPECT_EQ(std::accumulate(found.df.begin(), found.df.end(), found.rest), 999);
}

const std::string opt =
    "[factor.opt.levels]\nO1 = { CFLAGS = '-O1' }\nO2 = { CFLAGS = '-O2' }\nO3 = { CFLAGS = '-O3' "
    "}\n";
const std::string aslr = "[factor.aslr]\nlevels = [false, true]\n";
const std::string bytes = "[factor.env_bytes]\nlevels = [0, 64]\n";
const std::string link_order = "[factor.link_order]\nrandom = { per = 'block' }\n";

std::string second_benchmark(int repetitions) {
  return fmt::format(
      "[[benchmark]]\nname = 'second'\nbuild = 'cc ${{CFLAGS}} ${{LDFLAGS}} -o ${{OUT}}'\n"
      "run = ['${{OUT}}']\nrepetitions = {}\n",
      repetitions);
}

// "benchmark or programs: formula | term df, stratum/term df, ...", a line a model.
std::string models_of(const std::string& more) {
  const Plan plan = good_plan(with_build + "repetitions = 10\n" + more);
  std::string text;
  for (const auto& [benchmark, model, programs] : models(plan, expand(plan))) {
    text += fmt::format("{}{}: {} |", benchmark, programs, model.formula);
    for (const Term& term : model.terms)
      text += fmt::format(" {}{}{} {},", term.stratum, term.stratum.empty() ? "" : "/", term.name,
                          term.df);
    text += "\n";
  }
  return text;
}

TEST(Model, OneWayHasBlocksAsItsUnits) {
  EXPECT_EQ(models_of("[design]\nkind = 'one-way'\n" + opt + link_order),
            "b: log(wall) ~ opt + Error(block/opt) | block/Residuals 9, block:opt/opt 2, "
            "block:opt/Residuals 18,\n");
}

TEST(Model, EachBenchmarkHasItsOwnNumberOfBlocks) {
  EXPECT_EQ(models_of(second_benchmark(4) + opt),
            "b: log(wall) ~ opt + Error(block/opt) | block/Residuals 9, block:opt/opt 2, "
            "block:opt/Residuals 18,\n"
            "second: log(wall) ~ opt + Error(block/opt) | block/Residuals 3, block:opt/opt 2, "
            "block:opt/Residuals 6,\n");
}

// R 4.2: aov(log(wall) ~ opt * aslr * env_bytes + Error(block/(opt * aslr * env_bytes))).
TEST(Model, AFactorialHasAStratumForEachInteraction) {
  EXPECT_EQ(models_of(opt + aslr + bytes),
            "b: log(wall) ~ opt * aslr * env_bytes + Error(block/(opt * aslr * env_bytes)) | "
            "block/Residuals 9, block:opt/opt 2, block:opt/Residuals 18, block:aslr/aslr 1, "
            "block:aslr/Residuals 9, block:env_bytes/env_bytes 1, block:env_bytes/Residuals 9, "
            "block:opt:aslr/opt:aslr 2, block:opt:aslr/Residuals 18, "
            "block:opt:env_bytes/opt:env_bytes 2, block:opt:env_bytes/Residuals 18, "
            "block:aslr:env_bytes/aslr:env_bytes 1, block:aslr:env_bytes/Residuals 9, "
            "block:opt:aslr:env_bytes/opt:aslr:env_bytes 2, "
            "block:opt:aslr:env_bytes/Residuals 18,\n");
}

TEST(Model, APooledErrorIsOneForAllTerms) {
  EXPECT_EQ(models_of("[analysis]\nerror = 'pooled'\n" + opt + aslr),
            "b: log(wall) ~ block + opt * aslr | block 9, opt 2, aslr 1, opt:aslr 2, "
            "Residuals 45,\n");
}

TEST(Model, OneBlockLeavesNoError) {
  EXPECT_EQ(models_of(second_benchmark(1) + opt),
            "b: log(wall) ~ opt + Error(block/opt) | block/Residuals 9, block:opt/opt 2, "
            "block:opt/Residuals 18,\n"
            "second: log(wall) ~ opt + Error(block/opt) | block/Residuals 0, block:opt/opt 2, "
            "block:opt/Residuals 0,\n");
}

TEST(Model, WithoutATreatmentThereAreOnlyBlocks) {
  EXPECT_EQ(models_of(link_order), "b: log(wall) ~ 1 + Error(block) | block/Residuals 9,\n");
}

TEST(Model, NamesTheResponse) {
  EXPECT_EQ(models_of("[analysis]\nresponse = 'max_rss'\nlog = false\n" + opt),
            "b: max_rss ~ opt + Error(block/opt) | block/Residuals 9, block:opt/opt 2, "
            "block:opt/Residuals 18,\n");
}

// R 4.2: aov(log(wall) ~ opt + Error(benchmark/opt)), 2 benchmarks, 3 levels, 10 repetitions.
TEST(Model, WithinSubjectsAsksOfTheseProgramsAndOfProgramsLikeThese) {
  const std::string plan = "[design]\nkind = 'within-subjects'\n" + second_benchmark(4) + opt;
  const std::string these =
      "these: log(wall) ~ opt + Error(block/opt) | block/Residuals 3, block:opt/opt 2, "
      "block:opt/Residuals 6,\n";
  const std::string like_these =
      "like-these: log(wall) ~ opt + Error(benchmark/opt) | benchmark/Residuals 1, "
      "benchmark:opt/opt 2, benchmark:opt/Residuals 2, Within/Residuals 36,\n";
  EXPECT_EQ(models_of(plan), like_these + these);
  EXPECT_EQ(models_of(plan + "[analysis]\nprograms = 'these'\n"), these + like_these);
}

TEST(Model, WithinSubjectsTestsEachEffectInItsStratum) {
  EXPECT_EQ(
      models_of("[design]\nkind = 'within-subjects'\n" + second_benchmark(4) + opt + aslr),
      "like-these: log(wall) ~ opt * aslr + Error(benchmark/(opt * aslr)) | "
      "benchmark/Residuals 1, "
      "benchmark:opt/opt 2, benchmark:opt/Residuals 2, benchmark:aslr/aslr 1, "
      "benchmark:aslr/Residuals 1, benchmark:opt:aslr/opt:aslr 2, benchmark:opt:aslr/Residuals 2, "
      "Within/Residuals 72,\n"
      "these: log(wall) ~ opt * aslr + Error(block/(opt * aslr)) | block/Residuals 3, "
      "block:opt/opt 2, block:opt/Residuals 6, block:aslr/aslr 1, block:aslr/Residuals 3, "
      "block:opt:aslr/opt:aslr 2, block:opt:aslr/Residuals 6,\n");
}

std::string nested_models(const std::string& more) {
  const Plan plan = good_plan(with_build + "[design]\nkind = 'nested'\n" +
                              "[factor.link_order]\nrandom = { seeds = 5, runs = 4 }\n" + more);
  const auto all = models(plan, expand(plan));
  EXPECT_EQ(all.size(), 1U);
  std::string text = all[0].model.formula + " |";
  for (const Term& term : all[0].model.terms)
    text += fmt::format(" {}/{} {},", term.stratum, term.name, term.df);
  return text;
}

TEST(Model, NestedTestsTheTreatmentAgainstTheSeeds) {
  EXPECT_EQ(nested_models(opt),
            "log(wall) ~ opt + Error(opt:link_order) | opt:link_order/opt 2, "
            "opt:link_order/Residuals 12, "
            "Within/Residuals 45,");
  EXPECT_EQ(nested_models(""),
            "log(wall) ~ 1 + Error(link_order) | link_order/Residuals 4, Within/Residuals 15,");
}

TEST(Model, DegreesOfFreedomOfACustomDesignAreThoseOfItsCells) {
  const std::string cells =
      "[design]\nkind = 'custom'\ncells = [ { opt = 'O1', aslr = false }, { opt = 'O1', aslr = "
      "true }, "
      "{ opt = 'O2', aslr = false }, { opt = 'O2', aslr = true }, { opt = 'O3', aslr = false } ]\n";
  EXPECT_EQ(models_of(cells + opt + aslr),
            "b: log(wall) ~ opt * aslr + Error(block/(opt * aslr)) | block/Residuals 9, "
            "block:opt/opt 2, block:opt/Residuals 18, block:aslr/aslr 1, block:aslr/Residuals 9, "
            "block:opt:aslr/opt:aslr 1, block:opt:aslr/Residuals 9,\n");
}

// aslr is told by opt, and opt beyond aslr is O1 against O3.
TEST(Model, TermsThatAddNothingToTheOthersAreLeftOut) {
  const std::string cells =
      "[design]\nkind = 'custom'\ncells = [ { opt = 'O1', aslr = false }, { opt = 'O2', aslr = "
      "true }, "
      "{ opt = 'O3', aslr = false } ]\n";
  EXPECT_EQ(models_of(cells + opt + aslr),
            "b: log(wall) ~ opt * aslr + Error(block/(opt * aslr)) | block/Residuals 9, "
            "block:opt/opt 1, block:opt/Residuals 9,\n");
}

TEST(Model, TheDegreesOfFreedomAddUp) {
  const Plan plan = good_plan(with_build + "repetitions = 10\n" + opt + aslr + bytes);
  const auto all = models(plan, expand(plan));
  std::int64_t sum = 1;
  for (const Term& term : all.at(0).model.terms) sum += term.df;
  EXPECT_EQ(sum, 120);
}

TEST(Model, ACalibrationHasTheModelOfOneOfItsComparisons) {
  EXPECT_EQ(models_of("[design]\nkind = 'calibration'\ncomparisons = 5\n"),
            "b: log(wall) ~ block + arm | block 9, arm 1, Residuals 9,\n");
}

TEST(Model, APaddingStudyHasOneNumberASeed) {
  const Plan plan = good_plan(with_build +
                              "[design]\nkind = 'padding-study'\n[factor.opt]\nlevels = { O2 = { "
                              "CFLAGS = '-O2' }, O3 = { CFLAGS = '-O3' } }\n[factor.link_order]\n"
                              "random = { seeds = 8, runs = 3 }\n");
  const auto all = models(plan, expand(plan));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].model.formula, "100 * (mean(wall[O3]) / mean(wall[O2]) - 1) ~ 1");
  ASSERT_EQ(all[0].model.terms.size(), 2U);
  EXPECT_EQ(all[0].model.terms[0].name, "opt");
  EXPECT_EQ(all[0].model.terms[1].stratum, "link_order:opt");
  EXPECT_EQ(all[0].model.terms[1].df, 7);
}

TEST(Model, AFractionalDesignHasOneTermForWhatItCannotTellApart) {
  const std::string two =
      "[factor.opt]\nlevels = { O2 = { CFLAGS = '-O2' }, O3 = { CFLAGS = '-O3' } }\n";
  EXPECT_EQ(models_of("[design]\nkind = 'fractional'\nresolution = 3\n" + two + aslr + bytes),
            "b: log(wall) ~ opt + aslr + env_bytes + Error(block/(opt + aslr + env_bytes)) | "
            "block/Residuals 9, block:opt/opt 1, block:opt/Residuals 9, block:aslr/aslr 1, "
            "block:aslr/Residuals 9, block:env_bytes/env_bytes 1, block:env_bytes/Residuals 9,\n");
  const Plan plan = good_plan(with_build + "[design]\nkind = 'fractional'\nresolution = 3\n" + two +
                              aslr + bytes);
  const auto all = models(plan, expand(plan));
  ASSERT_EQ(all.at(0).model.terms.size(), 7U);
  EXPECT_EQ(all[0].model.terms[1].aliases, "aslr:env_bytes");
  EXPECT_EQ(all[0].model.terms[5].aliases, "opt:aslr");
}

}  // namespace
}  // namespace stab::plan
