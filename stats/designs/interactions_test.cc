// SPDX-License-Identifier: MIT
// The tables, which agree with R (factorial_test.cc, nested_test.cc, within_test.cc), have the same
// tests of terms with one degree of freedom: F = (difference / error)^2.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/analyse/analyse.h"
#include "stats/designs/effects.h"
#include "stats/numbers/distribution.h"
#include "stats/numbers/summary.h"
#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"

namespace stab::stats {
namespace {

using oracle::expect_close;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const AnovaRow& row_of(const Analysis& analysis, const std::string& term) {
  for (const AnovaTable& table : analysis.tables)
    for (const AnovaRow& row : table.rows)
      if (row.term == term) return row;
  ADD_FAILURE() << "no term " << term;
  static const AnovaRow none;
  return none;
}

double mean_of(const Analysis& analysis, const std::vector<std::string>& levels) {
  double sum = 0;
  double n = 0;
  for (const CellMean& mean : analysis.means)
    if (mean.levels == levels) {
      sum += mean.mean;
      ++n;
    }
  return sum / n;
}

double difference_of_means(const Analysis& analysis) {
  return mean_of(analysis, {"O3", "true"}) - mean_of(analysis, {"O3", "false"}) -
         mean_of(analysis, {"O2", "true"}) + mean_of(analysis, {"O2", "false"});
}

// Levels are renamed, so that the test can name them.
Dataset programs(std::uint32_t subjects) {
  Dataset data = oracle::programs(3, {.subjects = subjects, .opt = 2, .aslr = 2, .blocks = 12});
  for (Column& column : data.columns) {
    if (column.name == "opt") column.levels = {"O2", "O3"};
    if (column.name == "aslr") column.levels = {"false", "true"};
  }
  return data;
}

Spec raw(Design design) {
  Spec spec{.design = design, .treatments = {"opt", "aslr"}, .log_scale = false};
  if (design == Design::factorial) {
    spec.block = "block";
    spec.error = Error::pooled;
  }
  if (design == Design::within_subjects) spec.subject = "bench";
  return spec;
}

void expect_the_tables_test(const Analysis& analysis, const Interaction& interaction) {
  const AnovaRow& row = row_of(analysis, "opt:aslr");
  expect_close(interaction.p, *row.p, 1e-9);
  ASSERT_TRUE(interaction.difference && interaction.low && interaction.high);
  EXPECT_FALSE(interaction.ratio);
  EXPECT_NEAR(*interaction.difference, difference_of_means(analysis),
              1e-6 * std::abs(*interaction.difference));
  const double error = std::abs(*interaction.difference) / std::sqrt(*row.f);
  double df = 0;  // of the residuals after the row
  for (const AnovaTable& table : analysis.tables)
    for (const AnovaRow& each : table.rows)
      if (each.stratum == row.stratum && each.term == "Residuals") df = each.df;
  const double half = *t_upper_quantile(0.025, df) * error;
  EXPECT_NEAR((*interaction.high - *interaction.low) / 2, half, 1e-6 * half);
  EXPECT_NEAR((*interaction.high + *interaction.low) / 2, *interaction.difference, 1e-6 * half);
}

TEST(Interactions, RawNumbersHaveADifferenceOfDifferences) {
  const Analysis analysis = analyse(programs(1), raw(Design::factorial));
  ASSERT_EQ(analysis.interactions.size(), 1U);
  expect_the_tables_test(analysis, analysis.interactions[0]);
}

TEST(Interactions, WithinSubjectsTheyAreTheSuites) {
  const Analysis analysis = analyse(programs(6), raw(Design::within_subjects));
  const auto suite = std::ranges::find(analysis.interactions, "", &Interaction::subject);
  ASSERT_NE(suite, analysis.interactions.end());
  expect_the_tables_test(analysis, *suite);
}

// Six seeds in each of four cells, two runs each.
Dataset nested_data(std::uint32_t seeds) {
  Dataset data;
  data.columns = {oracle::column("opt", 2, "O"), oracle::column("aslr", 2, "a"),
                  oracle::column("seed", seeds, "s")};
  for (std::uint32_t i = 0; i < 4 * seeds * 2; ++i) {
    const auto cell = static_cast<std::uint32_t>(i / (2 * seeds));
    const auto seed = static_cast<std::uint32_t>(i / 2 % seeds);
    const double layout = (cell / 2 == 1 ? 2.0 : 1.0) * ((seed * 37 + cell * 11) % 17);
    data.response.push_back(1000 + 40 * (cell / 2) + 25 * (cell == 3 ? 1 : 0) + layout +
                            0.5 * (i % 2));
    data.columns[0].codes.push_back(cell / 2);
    data.columns[1].codes.push_back(cell % 2);
    data.columns[2].codes.push_back(seed);
  }
  return data;
}

Analysis nested(const Dataset& data, bool log_scale) {
  Spec spec = raw(Design::nested);
  spec.seed = "seed";
  spec.log_scale = log_scale;
  return analyse(data, spec);
}

TEST(Interactions, NestedDesignsHaveThemToo) {
  for (const bool log_scale : {false, true}) {
    const Analysis analysis = nested(nested_data(6), log_scale);
    ASSERT_EQ(analysis.interactions.size(), 1U);
    // Welch's, whose seeds vary by cell: fewer degrees of freedom than the table's F pools.
    EXPECT_GT(*analysis.interactions[0].p, *row_of(analysis, "opt:aslr").p);
    EXPECT_LT(*analysis.interactions[0].p, 0.001);
    EXPECT_EQ(analysis.interactions[0].ratio.has_value(), log_scale);
    EXPECT_TRUE(analysis.interactions[0].low);
  }
}

// Written out: the distances of the seeds' means from their median in each cell, geometric means
// over the other treatment.
TEST(Interactions, NestedDesignsCompareTheVarianceOfSeeds) {
  const Dataset data = nested_data(6);
  const Analysis analysis = nested(data, false);
  std::map<std::uint32_t, std::vector<double>> cells;
  for (std::size_t i = 0; i < data.response.size(); i += 2)
    cells[data.columns[0].codes[i] * 2 + data.columns[1].codes[i]].push_back(
        (data.response[i] + data.response[i + 1]) / 2);
  const auto distance = [&](std::uint32_t cell) {
    double sum = 0;
    for (const double x : cells[cell]) sum += std::abs(x - median(cells[cell]));
    return sum;
  };
  const double expected = distance(2) * distance(3) / (distance(0) * distance(1));
  ASSERT_TRUE(analysis.effects.at(0).spread);
  EXPECT_NEAR(analysis.effects[0].spread->ratio, expected, 1e-9 * expected);
  EXPECT_LT(analysis.effects[0].spread->low, expected);
  EXPECT_THAT(analysis.notes, Not(Contains(HasSubstr("ewer than six seeds"))));
}

TEST(Interactions, FewerThanSixSeedsTellNoChangeOfTheirVariance) {
  const Analysis analysis = nested(nested_data(4), false);
  EXPECT_FALSE(analysis.effects.at(0).spread);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("fewer than six seeds of seed per cell")));
}

}  // namespace
}  // namespace stab::stats
