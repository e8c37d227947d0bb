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
#include "stats/models/own_error.h"
#include "stats/numbers/distribution.h"
#include "stats/numbers/summary.h"
#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"
#include "stats/verdicts/decide.h"

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

// Written out: twice the smaller p of Student's t, of two differences of differences within blocks.
// The F of the table has another p.
TEST(Interactions, OfThreeLevelsAreTestedByTheirDifferencesTogether) {
  const Dataset data = oracle::programs(7, {.subjects = 1, .opt = 2, .aslr = 3, .blocks = 6});
  const Analysis analysis = analyse(data, {.treatments = {"opt", "aslr"}, .block = "block"});
  ASSERT_EQ(analysis.interactions.size(), 1U);
  const Interaction& both = analysis.interactions[0];
  EXPECT_EQ(both.term, "opt:aslr");
  expect_close(both.p, 2 * 0.0003802904996668427, 1e-6);
  EXPECT_EQ(both.p_adjusted, both.p);
  EXPECT_FALSE(both.has_size() || both.low || both.high || both.spread);
  expect_close(row_of(analysis, "opt:aslr").p, 1.27246248048207e-04, 1e-7);
  EXPECT_EQ(row_of(analysis, "opt:aslr").p_adjusted, both.p);
}

// Treatments a (a1, a2, ...) and b (b1, b2, ...) in blocks k; the levels are numbered from 0.
template <class Number>
Dataset levels_in_blocks(std::uint32_t as, std::uint32_t bs, std::uint32_t blocks, Number number) {
  Dataset data;
  data.columns = {oracle::column("a", as, "a"), oracle::column("b", bs, "b"),
                  oracle::column("k", blocks, "")};
  for (std::uint32_t k = 0; k < blocks; ++k)
    for (std::uint32_t a = 0; a < as; ++a)
      for (std::uint32_t b = 0; b < bs; ++b) {
        data.response.push_back(number(a, b, k));
        data.columns[0].codes.push_back(a);
        data.columns[1].codes.push_back(b);
        data.columns[2].codes.push_back(k);
      }
  return data;
}

Spec in_blocks() {
  return {.treatments = {"a", "b"}, .block = "k", .log_scale = false, .resolution = 0.0};
}

// The p of one difference of differences, with the first level of each treatment.
std::optional<double> p_of_one(const Dataset& data, std::uint32_t bs, std::uint32_t cells,
                               std::uint32_t a, std::uint32_t b) {
  UnitNumbers numbers;
  for (std::uint32_t k = 0; k * cells < data.response.size(); ++k) {
    const auto y = [&](std::uint32_t i, std::uint32_t j) {
      return data.response[k * cells + i * bs + j];
    };
    numbers.units.push_back(k);
    numbers.difference.push_back(y(a, b) - y(0, b) - y(a, 0) + y(0, 0));
  }
  return p_value(mean_over_time(numbers, {}, 0));
}

TEST(Interactions, OfManyLevelsAreTestedByAllOfTheirDifferences) {
  constexpr std::uint32_t levels = 12;
  oracle::Normal normal(3);
  const Dataset data = levels_in_blocks(levels, levels, 5, [&](auto a, auto b, auto) {
    return 1000 + (a == 5 && b == 7 ? 200 : 0) + normal.next();
  });
  double least = 1;
  for (std::uint32_t a = 1; a < levels; ++a)
    for (std::uint32_t b = 1; b < levels; ++b)
      least = std::min(least, p_of_one(data, levels, levels * levels, a, b).value_or(1));
  const Analysis analysis = analyse(data, in_blocks());
  ASSERT_EQ(analysis.interactions.size(), 1U);
  expect_close(analysis.interactions[0].p, 121 * least, 1e-6);
  EXPECT_LT(analysis.interactions[0].p, 0.001);
}

// Nothing has an effect. In 40 tables, two false statements are right.
TEST(Interactions, DependentBlocksMakeFewOfThem) {
  for (const double correlation : {0.5, 0.8}) {
    std::size_t stated = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      oracle::Normal normal(seed);
      std::vector<double> last(6);
      const Dataset data = levels_in_blocks(3, 2, 20, [&](auto a, auto b, auto k) {
        double& x = last[a * 2 + b];
        const double fresh = k == 0 ? 1 : std::sqrt(1 - correlation * correlation);
        x = correlation * x + fresh * normal.next();
        return 1000 + x;
      });
      stated += interplays(analyse(data, in_blocks())).size();
    }
    EXPECT_LE(stated, 6U) << correlation;
  }
}

// The difference of differences of a2 is a trend, and that of a3 is always 0. So p is that of one
// trend, times 2: 0.017 or 0.0003.
TEST(Interactions, OfTooFewIndependentBlocksAreOnlyPossible) {
  for (const double size : {30.0, 150.0}) {
    const Dataset data = levels_in_blocks(3, 2, 20, [&](auto a, auto b, auto k) {
      return a == 1 && b == 1 ? 1000 + size + k : 1000.0;
    });
    const bool small = size < 100;
    const Analysis analysis = analyse(data, in_blocks());
    EXPECT_EQ(interplays(analysis).size(), small ? 0U : 1U);
    ASSERT_EQ(doubtful_interplays(analysis).size(), small ? 1U : 0U);
    if (!small) continue;
    EXPECT_TRUE(doubtful_interplays(analysis)[0].is_dependent);
    EXPECT_EQ(row_of(analysis, "a:b").reason, "too few independent ks");
    EXPECT_THAT(analysis.notes, Contains(HasSubstr("independent ks. These are too few")));
    EXPECT_THAT(analysis.notes, Not(Contains(HasSubstr("a:b interact"))));
  }
}

// The same numbers, but two trials are missing, and nothing limits their values.
TEST(Interactions, OfTooFewIndependentBlocksMayBeOfAnySizeIfTrialsAreMissing) {
  Dataset data = levels_in_blocks(
      2, 2, 22, [](auto a, auto b, auto k) { return a == 1 && b == 1 ? 1000.0 + 28 + k : 1000.0; });
  Spec spec = in_blocks();
  spec.equivalence = 0.5;
  for (const bool is_missing : {false, true}) {
    if (is_missing) data.response[3] = data.response[4 + 1] = std::nan("");
    const Analysis analysis = analyse(data, spec);
    ASSERT_EQ(doubtful_interplays(analysis).size(), 1U);
    const Interplay both = doubtful_interplays(analysis)[0];
    EXPECT_EQ(both.is_dependent, !is_missing);
    if (!is_missing) {
      EXPECT_FALSE(both.matters(spec)) << "the size is known";
    }
  }
}

// a3 has an effect only at b2.
double at_one_cell(std::uint32_t a, std::uint32_t b, std::uint32_t k) {
  return 1000 + (a == 2 && b == 1 ? 50 : 0) + ((k * 7 + a * 3 + b * 5) % 11) / 10.0;
}

TEST(Interactions, WithoutTheFirstCellAreTestedBetweenTheOthers) {
  const Dataset all = levels_in_blocks(3, 2, 12, at_one_cell);
  const Dataset data = oracle::rows_where(all, [](std::size_t row) { return row % 6 != 1; });
  Spec spec = in_blocks();
  const Analysis analysis = analyse(data, spec);
  ASSERT_EQ(doubtful_interplays(analysis).size(), 1U);
  EXPECT_FALSE(doubtful_interplays(analysis)[0].is_dependent) << "trials are missing";
  EXPECT_LT(analysis.interactions.at(0).p, 0.001);
  spec.losses = Losses::random;
  EXPECT_EQ(interplays(analyse(data, spec)).size(), 1U);
}

TEST(Interactions, OfSessionsAreNotTested) {
  const Dataset data = levels_in_blocks(3, 2, 12, at_one_cell);
  Spec spec = in_blocks();
  EXPECT_THAT(analyse(data, spec).notes, Contains(HasSubstr("a:b interact")));
  spec.sessions = "b";
  const Analysis analysis = analyse(data, spec);
  EXPECT_TRUE(analysis.interactions.empty());
  EXPECT_THAT(analysis.notes, Not(Contains(HasSubstr("interact"))));
}

TEST(Interactions, CanBeLeftOut) {
  Spec spec = in_blocks();
  spec.interactions = false;
  const Analysis analysis = analyse(levels_in_blocks(3, 2, 12, at_one_cell), spec);
  EXPECT_TRUE(analysis.interactions.empty());
  EXPECT_TRUE(analysis.effects.at(0).p);
  EXPECT_THAT(analysis.notes, Not(Contains(HasSubstr("interact"))));
}

// The model has no a:c, so its rows of a:c are sums that only rounding keeps from 0.
TEST(Interactions, ThatThePooledModelLeavesOutAreNotTested) {
  constexpr std::uint32_t levels = 22;
  Dataset data = levels_in_blocks(levels, 2 * levels, 13, [](auto a, auto b, auto k) {
    return 1000 + 50.0 * (b % 2) + ((k * 7 + a * 3 + b * 5) % 11) / 10.0;
  });
  Column c = oracle::column("c", 2, "c");
  for (std::uint32_t& code : data.columns[1].codes) {
    c.codes.push_back(code % 2);
    code /= 2;
  }
  data.columns[1].levels = oracle::column("b", levels, "b").levels;
  data.columns.push_back(c);
  Spec spec = in_blocks();
  spec.treatments = {"a", "b", "c"};
  spec.error = Error::pooled;
  spec.assumptions = false;
  const Analysis analysis = analyse(data, spec);
  ASSERT_THAT(analysis.notes, Contains(HasSubstr("more than 1 treatments are left in the")));
  EXPECT_TRUE(analysis.interactions.empty());
  EXPECT_THAT(
      analysis.notes,
      Contains(HasSubstr("The interactions of a:b, a:c, b:c and 1 more are not tested, because "
                         "the model has no term for an interaction of so many treatments")));
}

TEST(Interactions, ThatAreNotTestedAreNoted) {
  const auto expect_noted = [](const Dataset& data, const Spec& spec, const std::string& why) {
    const Analysis analysis = analyse(data, spec);
    EXPECT_TRUE(analysis.interactions.empty()) << why;
    EXPECT_THAT(analysis.notes,
                Contains(HasSubstr("The interaction of a:b is not tested, because " + why + ".")));
  };
  const Dataset all = levels_in_blocks(2, 2, 12, at_one_cell);
  expect_noted(oracle::rows_where(all, [](std::size_t row) { return row % 4 != 0; }), in_blocks(),
               "some combinations of levels have no trials");
  const auto has = [](std::size_t row) { return row % 4 != row / 4 % 4; };
  expect_noted(oracle::rows_where(all, [&](std::size_t row) { return has(row - 1); }), in_blocks(),
               "too few levels of k have trials at all combinations of levels");
  Spec spec = in_blocks();
  spec.block = "";
  spec.assumptions = false;
  expect_noted(levels_in_blocks(32, 32, 2, at_one_cell), spec,
               "the design has more than 1,000 combinations of levels");
}

TEST(Interactions, OfTheControlAreNotTested) {
  oracle::Normal normal(5);
  const Dataset data = levels_in_blocks(
      3, 2, 12, [&](auto a, auto b, auto k) { return at_one_cell(a, b, k) + normal.next(); });
  Spec spec = in_blocks();
  EXPECT_EQ(interplays(analyse(data, spec)).size(), 1U);
  spec.control = "a3";
  const Analysis analysis = analyse(data, spec);
  ASSERT_EQ(analysis.interactions.size(), 1U);
  expect_close(analysis.interactions[0].p, p_of_one(data, 2, 6, 1, 1).value_or(0), 1e-6);
}

// The true means may be 10.4, 10.45, 10.45 and 10.5.
TEST(Interactions, AllowForTheStepsOfTheClock) {
  for (const bool log_scale : {false, true})
    for (const std::uint32_t as : {2U, 3U}) {
      const Dataset data = levels_in_blocks(
          as, 2, 12, [](auto a, auto b, auto) { return a > 0 && b > 0 ? 11e6 : 10e6; });
      Spec spec = in_blocks();
      spec.log_scale = log_scale;
      EXPECT_EQ(analyse(data, spec).interactions.at(0).p, 0) << "exact numbers differ";
      spec.resolution = 1e6;
      EXPECT_EQ(analyse(data, spec).interactions.at(0).p, 1);
    }
}

TEST(Interactions, BoundsOfMissingTrialsAllowForTheStepsOfTheClock) {
  Dataset data =
      levels_in_blocks(2, 2, 12, [](auto a, auto b, auto) { return a > 0 && b > 0 ? 11e6 : 10e6; });
  data.response[4] = std::nan("");
  Spec spec = in_blocks();
  spec.resolution = 1e6;
  spec.lost_at_least = spec.lost_at_most = 10e6;
  const Interaction both = analyse(data, spec).interactions.at(0);
  EXPECT_NEAR(both.loss_low.value_or(0), -1e6, 1) << "each of four means is off by half a step";
  EXPECT_NEAR(both.loss_high.value_or(0), 3e6, 1);
}

TEST(Interactions, OfRawNumbersAreComparedWithTheMargin) {
  const Dataset data = levels_in_blocks(2, 2, 20, [](auto a, auto b, auto k) {
    return 1000 + a * b * 0.5 + ((k * 7 + a * 3 + b * 5) % 11) / 50.0;
  });
  Spec spec = in_blocks();
  for (const double margin : {0.05, 0.0001}) {
    spec.equivalence = margin;
    const Analysis analysis = analyse(data, spec);
    ASSERT_EQ(interplays(analysis).size(), 1U);
    EXPECT_EQ(interplays(analysis)[0].matters(spec), margin < 0.001);
  }
}

}  // namespace
}  // namespace stab::stats
