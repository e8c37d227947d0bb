// SPDX-License-Identifier: MIT
// Expected values: make.R.
#include "stats/models/factorial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "stats/analyse/analyse.h"
#include "stats/oracle/data.h"
#include "stats/oracle/expect.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {
namespace {

using oracle::expect_close;
using oracle::expect_row;
using oracle::expect_table;

Analysis blocked(const Dataset& data) {
  Spec spec;
  spec.treatments = {"opt", "aslr"};
  spec.block = "block";
  spec.error = Error::pooled;
  return analyse(data, spec);
}

void expect_effect(const Effect& effect, double ratio, double low, double high, double p) {
  SCOPED_TRACE(effect.treatment + " " + effect.level);
  expect_close(effect.ratio, ratio);
  expect_close(effect.low, low);
  expect_close(effect.high, high);
  expect_close(effect.p, p, 1e-7);
}

const oracle::Size three_by_two{.subjects = 1, .opt = 2, .aslr = 3, .blocks = 6};

TEST(Factorial, OneWayAgreesWithR) {
  Spec spec;
  spec.treatments = {"group"};
  spec.log_scale = false;
  spec.response = "weight";
  const Analysis analysis = analyse(oracle::plant_growth(), spec);
  ASSERT_EQ(analysis.tables.size(), 1U);
  EXPECT_EQ(analysis.tables[0].formula, "weight ~ group");
  expect_table(analysis.tables[0], {{"", "group", 2, 3.76634, 4.84608786238014, 0.0159099583256229},
                                    {"", "Residuals", 27, 10.49209}});
}

TEST(Factorial, CompleteBlocksAgreeWithR) {
  const Analysis analysis = blocked(oracle::programs(7, three_by_two));
  ASSERT_EQ(analysis.tables.size(), 1U);
  EXPECT_EQ(analysis.tables[0].formula, "log(wall) ~ block + opt * aslr");
  expect_table(analysis.tables[0],
               {{"", "block", 5, 0.00128519359513019, 8.52080632085811, 8.13592991652915e-05},
                {"", "opt", 1, 0.00872355685456266, 289.184986092281, 2.98321740209725e-15},
                {"", "aslr", 2, 0.00291851780233638, 48.3742780696895, 2.54655092315444e-09},
                {"", "opt:aslr", 2, 0.00123819622347063, 20.523036854892, 5.32307453455433e-06},
                {"", "Residuals", 25, 0.000754150221666323}});
}

Dataset lost_trials() {
  return oracle::without_rows(oracle::programs(7, three_by_two), {2, 9, 10, 23, 36});
}

TEST(Factorial, LostTrialsGiveRsTypeTwoSumsOfSquares) {
  ASSERT_EQ(oracle::sum(lost_trials().response), 6179700752);
  const Analysis analysis = blocked(lost_trials());
  ASSERT_EQ(analysis.tables.size(), 1U);
  expect_table(analysis.tables[0],
               {{"", "block", 5, 0.00121781549205767, 12.0138666330676, 1.82298863961817e-05},
                {"", "opt", 1, 0.00799636290869543, 394.424435233438, 1.23478111743112e-14},
                {"", "aslr", 2, 0.00295804880742578, 72.9535879989346, 6.48109289818675e-10},
                {"", "opt:aslr", 2, 0.00107445733292427, 26.4990616083869, 2.38332358761726e-06},
                {"", "Residuals", 20, 0.000405469955428234}});
}

TEST(Factorial, LostTrialsGiveTheTypeThreeSumsOfSquaresOfCar) {
  Spec spec;
  spec.treatments = {"opt", "aslr"};
  spec.block = "block";
  spec.error = Error::pooled;
  spec.sums_of_squares = SumsOfSquares::type3;
  const Analysis analysis = analyse(lost_trials(), spec);
  ASSERT_EQ(analysis.tables.size(), 1U);
  expect_table(analysis.tables[0],
               {{"", "block", 5, 0.00121781549205767, 12.0138666330676, 1.82298863961817e-05},
                {"", "opt", 1, 0.00829116710686104, 408.965793685226, 8.73935137294425e-15},
                {"", "aslr", 2, 0.00281707311231017, 69.4767411147624, 9.94487872114278e-10},
                {"", "opt:aslr", 2, 0.00107445733292427, 26.4990616083869, 2.38332358761726e-06},
                {"", "Residuals", 20, 0.000405469955428234}});
}

TEST(Factorial, WithoutACellTypeThreeBecomesTypeTwoWithANote) {
  const Dataset all = oracle::programs(7, three_by_two);
  const Dataset data = oracle::rows_where(all, [&](std::size_t row) {
    return all.columns[1].codes[row - 1] != 1 || all.columns[2].codes[row - 1] != 2;
  });
  Spec spec;
  spec.treatments = {"opt", "aslr"};
  spec.block = "block";
  spec.error = Error::pooled;
  const Analysis two = analyse(data, spec);
  spec.sums_of_squares = SumsOfSquares::type3;
  const Analysis three = analyse(data, spec);
  for (std::size_t i = 0; i < two.tables.at(0).rows.size(); ++i)
    EXPECT_EQ(three.tables.at(0).rows.at(i).ss, two.tables[0].rows[i].ss);
  EXPECT_THAT(three.notes, testing::Contains(testing::HasSubstr("of type III do not exist")));
}

TEST(Factorial, FittedValuesLeaveTheResidualSumOfSquares) {
  const std::size_t shape[] = {2, 3};
  std::vector<Point> points;
  const Dataset data = lost_trials();
  for (std::size_t i = 0; i < data.response.size(); ++i) {
    Point point{.block = data.columns[3].codes[i],
                .cell = data.columns[1].codes[i] * 3 + data.columns[2].codes[i],
                .y = {}};
    point.y.add(std::log(data.response[i]));
    points.push_back(point);
  }
  std::ranges::sort(points, {}, [](const Point& p) { return std::pair(p.block, p.cell); });
  const auto model = FactorialModel::fit(shape, points, 0);
  const std::vector<double> fitted = model->fitted(points);
  double ss = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    ss += (points[i].y.mean - fitted[i]) * (points[i].y.mean - fitted[i]);
  EXPECT_NEAR(ss, 0.000405469955428234, 1e-12);
}

TEST(Factorial, ThreeTreatmentsWithLostTrialsGiveRsTypeTwoSumsOfSquares) {
  const Dataset data =
      oracle::without_rows(oracle::programs(31, {.subjects = 4, .opt = 2, .aslr = 3, .blocks = 2}),
                           {3, 11, 12, 20, 34, 35, 47});
  ASSERT_EQ(oracle::sum(data.response), 20482417910);
  Spec spec;
  spec.treatments = {"opt", "aslr", "block"};
  spec.block = "bench";
  spec.error = Error::pooled;
  const Analysis analysis = analyse(data, spec);
  ASSERT_EQ(analysis.tables.size(), 1U);
  EXPECT_EQ(analysis.tables[0].formula, "log(wall) ~ bench + opt * aslr * block");
  expect_table(
      analysis.tables[0],
      {{"", "bench", 3, 13.5141767642956, 36164.9190370213, 3.58575724571397e-47},
       {"", "opt", 1, 0.00900395987161906, 72.2857526838033, 5.544356420443e-09},
       {"", "aslr", 2, 0.003444170792278, 13.8252769693107, 8.13183931818329e-05},
       {"", "block", 1, 0.000616322005147981, 4.9479674135533, 0.0350140229406337},
       {"", "opt:aslr", 2, 0.00032196015051056, 1.29238313729077, 0.291677636244758},
       {"", "opt:block", 1, 4.50006434368792e-05, 0.361274975507564, 0.553003603530722},
       {"", "aslr:block", 2, 5.26064797434734e-06, 0.0211168143712442, 0.979121358774765},
       {"", "opt:aslr:block", 2, 1.85907840111687e-05, 0.0746254333865493, 0.928289105159845},
       {"", "Residuals", 26, 0.00323857673151891}});
}

TEST(Factorial, EffectsOfLostTrialsAreRsContrastsOfTheModel) {
  const Analysis analysis = blocked(lost_trials());
  ASSERT_EQ(analysis.effects.size(), 3U);
  expect_effect(analysis.effects[0], 0.967428543038763, 0.964129799827336, 0.970738572808055,
                8.73935137294431e-15);
  expect_effect(analysis.effects[1], 1.00326680635233, 0.999077806796008, 1.00747336982327,
                0.119604657694834);
  expect_effect(analysis.effects[2], 1.02219133790431, 1.01797792911324, 1.02642218598669,
                5.45218998872793e-10);
}

TEST(Factorial, ACrossingThatLacksACellLosesItsDegreesOfFreedom) {
  const Dataset all = oracle::programs(7, three_by_two);
  const Dataset data = oracle::rows_where(all, [&](std::size_t row) {
    return all.columns[1].codes[row - 1] != 1 || all.columns[2].codes[row - 1] != 2;
  });
  const Analysis analysis = blocked(data);
  ASSERT_EQ(analysis.tables.size(), 1U);
  const auto& rows = analysis.tables[0].rows;
  ASSERT_EQ(rows.size(), 5U);
  expect_row(rows[1], {"", "opt", 1, 0.00391089231582743, 114.637754319659, 9.91208751237195e-10});
  expect_row(rows[2], {"", "aslr", 2, 0.00305348386435045, 44.7525148728611, 4.1300877757985e-08});
  expect_row(rows[3],
             {"", "opt:aslr", 1, 0.000673181387417706, 19.7325817924063, 0.000250359158402657});
  expect_row(rows[4], {"", "Residuals", 20, 0.000682304418651152});
  for (const Effect& effect : analysis.effects) EXPECT_TRUE(effect.low) << effect.level;
}

TEST(Factorial, SeveralPointsOfACellAreAsGoodAsOne) {
  const std::vector<std::size_t> shape{2, 3};
  std::vector<Point> points;
  for (std::uint32_t i = 0; i < 24; ++i) {
    Moments y;
    for (std::uint32_t k = 0; k < 2; ++k) y.add((i * 37 + k * 11) % 17);
    points.push_back({.block = i / 6, .cell = i % 6, .y = y});
  }
  const auto together = FactorialModel::fit(shape, points, 0);
  Moments half;
  half.add(static_cast<double>(0 * 37 % 17));
  points[0].y = half;
  Moments other;
  other.add(11 % 17);
  points.insert(points.begin(), {.block = 0, .cell = 0, .y = other});
  const auto apart = FactorialModel::fit(shape, points, 0);
  ASSERT_TRUE(together && apart);
  EXPECT_TRUE(together->result().balanced);
  EXPECT_TRUE(apart->result().balanced);
  ASSERT_EQ(together->result().terms.size(), 3U);
  ASSERT_EQ(apart->result().terms.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i)
    expect_close(apart->result().terms[i].ss, together->result().terms[i].ss);
  expect_close(apart->result().residual_ss, together->result().residual_ss);
  expect_close(apart->result().block->ss, together->result().block->ss);
}

TEST(Factorial, SumsOfSquaresAddUpToTheTotal) {
  const Dataset data = oracle::programs(7, three_by_two);
  Spec spec;
  spec.treatments = {"opt", "aslr"};
  spec.block = "block";
  spec.error = Error::pooled;
  spec.log_scale = false;
  double total = 0;
  for (const AnovaRow& row : analyse(data, spec).tables.at(0).rows) total += row.ss;
  expect_close(total, moments(data.response).ss);
}

TEST(Factorial, TooManyInteractionsAreLeftInTheResiduals) {
  const std::vector<std::size_t> shape(12, 2);  // 4095 terms
  std::vector<Point> points;
  for (std::uint32_t cell = 0; cell < 4096; ++cell) {
    Moments y;
    y.add(cell * 7919 % 101 + (cell & 1U));
    points.push_back({.block = 0, .cell = cell, .y = y});
  }
  const auto model = FactorialModel::fit(shape, points, 0);
  ASSERT_TRUE(model);
  EXPECT_LT(model->result().order, 12U);
  EXPECT_GE(model->result().order, 1U);
  EXPECT_GT(model->result().residual_df, 0);
}

TEST(Factorial, ATreatmentWithThousandsOfLevelsIsRefused) {
  std::vector<Point> points(5000);
  for (std::uint32_t cell = 0; cell < 5000; ++cell)
    points[cell] = {.block = 0, .cell = cell, .y = {.n = 1}};
  EXPECT_FALSE(FactorialModel::fit(std::vector<std::size_t>{5000}, points, 0));
}

}  // namespace
}  // namespace stab::stats
