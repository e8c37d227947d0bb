// SPDX-License-Identifier: MIT
// Expected values of binomial intervals: R's binom.test.
#include "stats/verdicts/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "stats/analyse/analyse.h"
#include "stats/oracle/data.h"
#include "stats/planning/noise_floor.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {
namespace {

using testing::Contains;
using testing::HasSubstr;

Spec spec_of() {
  Spec spec;
  spec.design = Design::calibration;
  spec.subject = "benchmark";
  spec.block = "block";
  spec.comparison = "comparison";
  spec.treatments = {"arm"};
  return spec;
}

struct Shape {
  std::size_t benchmarks = 5;
  std::size_t comparisons = 20;
  std::size_t blocks = 10;
};

// Times of benchmarks that have nothing in common but their blocks' slices of time. `shift` is what
// the arms differ by.
Dataset simulate(std::uint64_t seed, const Shape& shape, double sd, double shift = 0) {
  oracle::Normal normal(seed);
  Dataset data;
  data.columns = {
      {"benchmark", {}, {}}, {"block", {}, {}}, {"comparison", {}, {}}, {"arm", {}, {}}};
  for (std::size_t b = 0; b < shape.benchmarks; ++b)
    data.columns[0].levels.push_back("b" + std::to_string(b));
  for (std::size_t i = 0; i < shape.comparisons * shape.blocks; ++i)
    data.columns[1].levels.push_back(std::to_string(i));
  for (std::size_t c = 0; c < shape.comparisons; ++c)
    data.columns[2].levels.push_back(std::to_string(c));
  data.columns[3].levels = {"A", "B"};
  for (std::uint32_t block = 0; block < shape.comparisons * shape.blocks; ++block) {
    const double slice = 0.05 * normal.next();
    for (std::uint32_t b = 0; b < shape.benchmarks; ++b)
      for (std::uint32_t arm = 0; arm < 2; ++arm) {
        data.response.push_back(std::exp(slice + b + shift * arm + sd * normal.next()));
        data.columns[0].codes.push_back(b);
        data.columns[1].codes.push_back(block);
        data.columns[2].codes.push_back(block / static_cast<std::uint32_t>(shape.blocks));
        data.columns[3].codes.push_back(arm);
      }
  }
  return data;
}

void erase_row(Dataset& data, std::size_t row) {
  const auto at = static_cast<std::ptrdiff_t>(row);
  data.response.erase(data.response.begin() + at);
  for (Column& column : data.columns) column.codes.erase(column.codes.begin() + at);
}

// The trial of the row loses its number, of which only the limits are known.
void lose(Dataset& data, std::size_t row, double at_least, double at_most, bool excluded = false) {
  Lost lost{.codes = {}, .at_least = at_least, .at_most = at_most, .excluded = excluded};
  for (const Column& column : data.columns) lost.codes.push_back(column.codes[row]);
  data.lost.push_back(std::move(lost));
  data.lists_lost = true;
  erase_row(data, row);
}

Calibration calibration_of(const Dataset& data, const Spec& spec = spec_of()) {
  Notes notes;
  return calibrate(data, spec, notes).value();
}

TEST(Calibration, FindsTheMarginThatNoiseLeaves) {
  const Calibration found = calibration_of(simulate(1, {}, 0.02));
  EXPECT_EQ(found.blocks, 10U);
  EXPECT_EQ(found.any.comparisons, 100U);
  // Differences of two means of ten have this standard deviation.
  const double sd = 0.02 * std::sqrt(2.0 / 10);
  EXPECT_NEAR(found.any.margin.value(), std::expm1(1.96 * sd), 0.005);
  ASSERT_TRUE(found.any.interval);
  EXPECT_LE(found.any.interval->low, *found.any.margin);
  EXPECT_GE(found.any.interval->high, *found.any.margin);
  ASSERT_EQ(found.benchmarks.size(), 5U);
  for (const Floor& floor : found.benchmarks) EXPECT_NEAR(floor.margin.value(), 2.5 * sd, 1.5 * sd);
  EXPECT_NEAR(found.suite.margin.value(), 2.5 * sd / std::sqrt(5), 1.5 * sd / std::sqrt(5));
  EXPECT_EQ(found.suite.comparisons, 20U);
}

// 400 calibrations of 20 comparisons each: the share of significant ones is alpha's, and a further
// comparison stays within the margin as often as is said.
TEST(Calibration, OfMachinesWithoutADifferenceIsRightAsOftenAsItSays) {
  std::size_t significant = 0;
  std::size_t stays = 0;
  constexpr std::size_t machines = 400;
  const Shape shape{.benchmarks = 1, .comparisons = 21, .blocks = 6};
  for (std::uint64_t i = 0; i < machines; ++i) {
    const Dataset all = simulate(100 + i, shape, 0.01);
    Dataset known = all;
    for (std::size_t row = all.response.size(); row-- > 0;)
      if (all.columns[2].codes[row] == 20) erase_row(known, row);
    const Calibration found = calibration_of(known);
    significant += found.any.significant;
    std::vector<double> a;
    std::vector<double> b;
    for (std::size_t row = 0; row < all.response.size(); ++row)
      if (all.columns[2].codes[row] == 20)
        (all.columns[3].codes[row] == 0 ? a : b).push_back(std::log(all.response[row]));
    const double distance = std::abs(moments(b).mean - moments(a).mean);
    stays += distance <= std::log1p(found.any.margin.value()) ? 1 : 0;
  }
  const auto expected =
      binomial_interval(static_cast<std::size_t>(0.05 * 20 * machines), 20 * machines, 0.001);
  EXPECT_GE(static_cast<double>(significant) / (20 * machines), expected->low);
  EXPECT_LE(static_cast<double>(significant) / (20 * machines), expected->high);
  EXPECT_GE(static_cast<double>(stays) / machines, 0.95 - 3 * std::sqrt(0.05 * 0.95 / machines));
}

TEST(Calibration, ArmsThatDifferAfterAllComeOutSignificant) {
  const Calibration found = calibration_of(simulate(2, {}, 0.01, 0.03));
  EXPECT_EQ(found.any.significant, 100U);
  EXPECT_GT(found.any.margin.value(), 0.03);
}

TEST(Calibration, BlocksCancelWhatTheyShare) {
  Dataset quiet = simulate(3, {.benchmarks = 1}, 1e-6);
  EXPECT_LT(calibration_of(quiet).any.margin.value(), 1e-5);
}

TEST(Calibration, HasTheMarginOfTheFunctionOfPlainSamples) {
  const Shape shape{.benchmarks = 3, .comparisons = 7, .blocks = 4};
  const Dataset data = simulate(4, shape, 0.01);
  std::vector<AaProgram> programs(3);
  for (std::uint32_t b = 0; b < 3; ++b)
    for (std::uint32_t c = 0; c < 7; ++c)
      for (std::uint32_t arm = 0; arm < 2; ++arm) {
        Moments group;
        for (std::size_t row = 0; row < data.response.size(); ++row)
          if (data.columns[0].codes[row] == b && data.columns[2].codes[row] == c &&
              data.columns[3].codes[row] == arm)
            group.add(std::log(data.response[row]));
        programs[b].groups.push_back(group.mean);
      }
  EXPECT_NEAR(calibration_of(data).any.margin.value(), noise_floor_disjoint(programs, 0.05)->margin,
              1e-12);
}

TEST(Calibration, ComparisonsThatLostTrialsAreLeftOut) {
  Dataset data = simulate(5, {}, 0.01);
  data.response[0] = std::nan("");
  Notes notes;
  const auto found = calibrate(data, spec_of(), notes);
  EXPECT_EQ(found->benchmarks[0].comparisons, 19U);
  EXPECT_EQ(found->benchmarks[1].comparisons, 20U);
  EXPECT_EQ(found->suite.comparisons, 19U);
  EXPECT_EQ(found->any.lost, 1U);
  EXPECT_FALSE(found->benchmarks[0].margin) << "nothing limits the number that is missing";
  EXPECT_THAT(notes.sentences(),
              Contains("Comparisons with fewer than 10 complete blocks are left out: 1."));
}

constexpr double endless = std::numeric_limits<double>::infinity();

// The margin grows with the farthest of 20 comparisons, so the bounds are the margins of a lost
// number at one of its limits, or of one without any change.
TEST(Calibration, ALostTrialBoundsTheMargin) {
  const Dataset data = simulate(8, {.benchmarks = 1}, 0.01);
  Dataset without = data;
  lose(without, 17, 0.5, 2);
  const Floor any = calibration_of(without).any;
  EXPECT_EQ(any.lost, 1U);
  EXPECT_EQ(any.comparisons, 19U);
  ASSERT_TRUE(any.loss_low && any.loss_high);
  EXPECT_EQ(any.margin, any.loss_high);
  double most = 0;
  for (double number = 0.5; number <= 2; number += 0.125) {
    Dataset with = data;
    with.response[17] = number;
    const double margin = calibration_of(with).any.margin.value();
    EXPECT_GE(margin, *any.loss_low * (1 - 1e-12)) << number;
    EXPECT_LE(margin, *any.loss_high * (1 + 1e-12)) << number;
    most = std::max(most, margin);
  }
  EXPECT_NEAR(most, *any.loss_high, 1e-12);
  EXPECT_LT(*any.loss_low, *any.loss_high / 2);
}

// 200 machines lose six trials each, of which only rough limits are known. Whatever the numbers
// were, the margin with them lies between the bounds, for the bootstrap over five programs, too.
TEST(Calibration, TheMarginOfAllTrialsLiesWithinItsBounds) {
  for (std::uint64_t machine = 0; machine < 200; ++machine) {
    const Shape shape{.benchmarks = machine % 2 == 0 ? 1U : 5U, .comparisons = 25, .blocks = 3};
    const Dataset all = simulate(900 + machine, shape, 0.02);
    Dataset known = all;
    const std::size_t step = all.response.size() / 6;
    for (std::size_t i = 6; i-- > 0;) {
      const std::size_t row = i * step + machine % step;
      lose(known, row, 0.97 * all.response[row], 1.02 * all.response[row]);
    }
    const Calibration found = calibration_of(known);
    const Calibration truth = calibration_of(all);
    const auto expect_within = [&](const Floor& bounds, const Floor& floor) {
      ASSERT_TRUE(bounds.loss_low && bounds.loss_high) << machine;
      EXPECT_LE(*bounds.loss_low, *floor.margin * (1 + 1e-12)) << machine;
      EXPECT_GE(*bounds.loss_high, *floor.margin * (1 - 1e-12)) << machine;
    };
    expect_within(found.any, truth.any);
    if (shape.benchmarks > 1) expect_within(found.suite, truth.suite);
  }
}

// Layouts that are slow enough to time out would have made the floor larger, so a floor without
// them is not one that other reports may quote.
TEST(Calibration, ATimeoutLeavesNoMarginUnlessTheMarginDoesNotNeedIt) {
  Dataset one = simulate(9, {.benchmarks = 1}, 0.01);
  lose(one, 5, 3, endless);
  const Analysis analysis = analyse(one, spec_of());
  const Floor& any = analysis.calibration->any;
  EXPECT_FALSE(any.margin);
  EXPECT_FALSE(any.loss_high);
  EXPECT_TRUE(any.loss_low);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("Trials are missing in 1 of 20 comparisons")));
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("there is no noise floor. Find out why")));
  // One comparison of 100 is beyond the 95 % that count, however far it is.
  Dataset five = simulate(9, {}, 0.01);
  lose(five, 5, 3, endless);
  const Calibration found = calibration_of(five);
  ASSERT_TRUE(found.any.margin);
  EXPECT_EQ(found.any.margin, found.any.loss_high);
  EXPECT_EQ(found.any.lost, 1U);
  EXPECT_FALSE(found.benchmarks[2].margin) << "that benchmark has only 20 comparisons";
  EXPECT_EQ(found.benchmarks[2].lost, 1U);
  EXPECT_TRUE(found.benchmarks[0].margin);
  EXPECT_EQ(found.benchmarks[0].lost, 0U);
  EXPECT_FALSE(found.suite.margin);
}

TEST(Calibration, LossesAtRandomAreBoundedButDecideNothing) {
  Dataset data = simulate(9, {.benchmarks = 1, .comparisons = 21}, 0.01);
  lose(data, 5, 3, endless);
  Spec spec = spec_of();
  spec.losses = Losses::random;
  const Analysis analysis = analyse(data, spec);
  const Floor& any = analysis.calibration->any;
  EXPECT_TRUE(any.margin);
  EXPECT_FALSE(any.loss_high);
  EXPECT_THAT(analysis.notes, Contains(HasSubstr("assumed to be missing at random")));
}

// An excluded number may have been any number of its benchmark, and is known to have been one.
TEST(Calibration, AnExcludedTrialHasTheLimitsOfItsBenchmark) {
  const Dataset all = simulate(10, {.benchmarks = 1}, 0.01);
  Dataset data = all;
  lose(data, 5, all.response[5], all.response[5], true);
  const Floor any = calibration_of(data).any;
  ASSERT_TRUE(any.loss_low && any.loss_high);
  EXPECT_GT(*any.loss_high, calibration_of(all).any.margin.value());
  EXPECT_LT(*any.loss_high, 0.1) << "the slices of time differ by 5 %, and ten blocks share this";
}

// A program that never ran says nothing about the machine's noise, so it must not take the floor of
// the other four away.
TEST(Calibration, ABenchmarkWithoutAnyNumberIsNoPartOfTheFloor) {
  Dataset data = simulate(12, {}, 0.01);
  const Floor without = calibration_of(simulate(12, {.benchmarks = 4}, 0.01)).any;
  for (std::size_t row = data.response.size(); row-- > 0;)
    if (data.columns[0].codes[row] == 4) lose(data, row, 0, endless);
  const Calibration found = calibration_of(data);
  EXPECT_EQ(found.benchmarks.size(), 4U);
  EXPECT_TRUE(found.any.margin && without.margin);
  EXPECT_EQ(found.any.lost, 0U);
}

TEST(Calibration, LossesThatDependOnTheArmAreSeen) {
  const auto p_of = [](const auto& is_lost) {
    Dataset data = simulate(11, {.benchmarks = 2}, 0.01);
    for (std::size_t row = data.response.size(); row-- > 0;)
      if (is_lost(row)) lose(data, row, 0, 100);
    return calibration_of(data).any.loss_p;
  };
  // Rows of arm A are even.
  EXPECT_LT(p_of([](std::size_t row) { return row % 50 == 1; }).value(), 0.001);
  EXPECT_GT(p_of([](std::size_t row) { return row % 25 == 1; }).value(), 0.5);
}

TEST(Calibration, TooFewComparisonsGiveNoMarginAndSayWhy) {
  const Analysis analysis =
      analyse(simulate(6, {.benchmarks = 2, .comparisons = 5, .blocks = 3}, 0.01), spec_of());
  ASSERT_TRUE(analysis.calibration);
  EXPECT_FALSE(analysis.calibration->any.margin);
  EXPECT_TRUE(analysis.calibration->any.share);
  EXPECT_THAT(analysis.notes,
              Contains("A noise floor at a confidence of 95 % needs 19 disjoint pairs, but there "
                       "are only 10: raise design.comparisons."));
  EXPECT_THAT(analysis.notes,
              Contains("b0, b1: a noise floor for a single benchmark needs 19 comparisons."));
}

TEST(Calibration, IsTheWholeAnswer) {
  const Analysis analysis = analyse(simulate(1, {}, 0.02), spec_of());
  EXPECT_TRUE(analysis.effects.empty());
  EXPECT_TRUE(analysis.tables.empty());
  EXPECT_EQ(analysis.means.size(), 10U);
}

TEST(Calibration, WithoutDataThereIsNone) {
  const Analysis analysis = analyse({}, spec_of());
  EXPECT_FALSE(analysis.calibration);
  EXPECT_THAT(analysis.notes, Contains("No comparison has at least two complete blocks."));
}

TEST(Calibration, BinomialIntervalsAreThoseOfR) {
  const auto expect = [](std::size_t k, std::size_t n, double alpha, double low, double high) {
    const auto interval = binomial_interval(k, n, alpha);
    ASSERT_TRUE(interval);
    EXPECT_NEAR(interval->low, low, 1e-14);
    EXPECT_NEAR(interval->high, high, 1e-14);
  };
  expect(6, 100, 0.05, 0.0223348860713164, 0.1260299345808230);
  expect(0, 20, 0.05, 0, 0.168433470983085);
  expect(20, 20, 0.1, 0.860891659331735, 1);
  expect(1, 7, 0.05, 0.00361029686190059, 0.57872319704319519);
  EXPECT_FALSE(binomial_interval(0, 0, 0.05));
  EXPECT_FALSE(binomial_interval(2, 1, 0.05));
}

}  // namespace
}  // namespace stab::stats
