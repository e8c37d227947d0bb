// SPDX-License-Identifier: MIT
// Expected values: oracle/tests.R.
#include "stats/tukey.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "stats/distribution.h"
#include "stats/oracle/deviation.h"
#include "stats/oracle/tests_expected.h"
#include "stats/studentized_range.h"

namespace stab::stats {
namespace {

namespace r = oracle::r;

TEST(StudentizedRange, TailsAgreeWithR) {
  const std::span<const double> rows = r::tukey_tails;
  for (std::size_t i = 0; i < rows.size(); i += 4) {
    const auto tail =
        studentized_range_tail(rows[i], static_cast<std::size_t>(rows[i + 1]), rows[i + 2]);
    ASSERT_TRUE(tail);
    EXPECT_NEAR(*tail, rows[i + 3], 1e-9) << rows[i] << " " << rows[i + 1] << " " << rows[i + 2];
    oracle::Deviations::all().add("studentized_range_tail (absolute)",
                                  std::abs(*tail - rows[i + 3]));
  }
}

TEST(StudentizedRange, QuantilesAgreeWithR) {
  const std::span<const double> rows = r::tukey_quantiles;
  for (std::size_t i = 0; i < rows.size(); i += 4)
    oracle::expect_near(
        "studentized_range_quantile",
        {studentized_range_quantile(rows[i], static_cast<std::size_t>(rows[i + 1]), rows[i + 2])
             .value_or(-1)},
        rows.subspan(i + 3, 1), 1e-8);
}

// Two groups: q / sqrt(2) is Student's t. Exact, and far out into the tail.
TEST(StudentizedRange, OfTwoGroupsIsStudentsT) {
  for (const double df : {1.0, 3.5, 20.0, 1e4, 1e8})
    for (const double q : {0.1, 1.0, 4.0, 9.0}) {
      const auto tail = studentized_range_tail(q, 2, df);
      const auto expected = t_two_sided(q / std::numbers::sqrt2, df);
      ASSERT_TRUE(tail && expected);
      EXPECT_NEAR(*tail, *expected, 1e-9 * *expected) << q << " " << df;
      oracle::Deviations::all().add("studentized_range_tail (2 groups, Student's t)",
                                    std::abs(*tail / *expected - 1));
    }
}

// Upper 5 % and 1 % points of the tables (Harter, Annals of Mathematical Statistics 1960).
TEST(StudentizedRange, PointsOfTheTables) {
  EXPECT_NEAR(*studentized_range_quantile(0.05, 3, 10), 3.877, 5e-4);
  EXPECT_NEAR(*studentized_range_quantile(0.05, 5, 20), 4.232, 5e-4);
  EXPECT_NEAR(*studentized_range_quantile(0.01, 4, 12), 5.502, 5e-4);
  EXPECT_NEAR(*studentized_range_quantile(0.05, 10, 60), 4.646, 5e-4);
}

TEST(StudentizedRange, WhatIsNotDefinedIsAbsent) {
  EXPECT_FALSE(studentized_range_tail(1, 1, 10));
  EXPECT_FALSE(studentized_range_tail(-1, 3, 10));
  EXPECT_FALSE(studentized_range_tail(1, 3, 0));
  EXPECT_FALSE(studentized_range_tail(std::nan(""), 3, 10));
  EXPECT_FALSE(studentized_range_quantile(0, 3, 10));
  EXPECT_FALSE(studentized_range_quantile(0.05, 3, std::nan("")));
  EXPECT_NEAR(*studentized_range_tail(0, 3, 10), 1, 1e-14);
}

std::vector<Moments> plant_growth(std::span<const std::size_t> left_out = {}) {
  std::vector<Moments> groups(3);
  for (std::size_t i = 0; i < r::plant_growth.size(); ++i)
    if (std::ranges::find(left_out, i) == left_out.end()) groups[i / 10].add(r::plant_growth[i]);
  return groups;
}

void expect_pairs(const Result<std::vector<PairDifference>>& pairs,
                  std::span<const double> expected) {
  ASSERT_TRUE(pairs);
  ASSERT_EQ(4 * pairs->size(), expected.size());
  for (std::size_t i = 0; i < pairs->size(); ++i) {
    const PairDifference& pair = (*pairs)[i];
    const auto row = expected.subspan(4 * i, 4);
    oracle::expect_near("tukey_hsd: difference, p", {pair.difference, pair.p},
                        std::vector{row[0], row[3]}, 1e-8);
    // R's qtukey stops at four decimals.
    oracle::expect_near("tukey_hsd: interval", {pair.interval.low, pair.interval.high},
                        row.subspan(1, 2), 1e-3);
  }
}

TEST(Tukey, AgreesWithR) {
  expect_pairs(tukey_hsd(plant_growth(), 0.05), r::plant_growth_tukey);
}

TEST(Tukey, UnequalGroupsAgreeWithR) {
  const std::vector<std::size_t> left_out{0, 1, 2, 29};
  expect_pairs(tukey_hsd(plant_growth(left_out), 0.05), r::plant_growth_unequal_tukey);
}

TEST(Tukey, IntervalAndPSayTheSame) {
  const auto pairs = tukey_hsd(plant_growth(), 0.05);
  ASSERT_TRUE(pairs);
  for (const PairDifference& pair : *pairs)
    EXPECT_EQ(pair.p < 0.05, pair.interval.low > 0 || pair.interval.high < 0);
  const double p = pairs->back().p;
  const auto at_p = tukey_hsd(plant_growth(), p);
  EXPECT_NEAR(at_p->back().interval.low, 0, 1e-9);  // the pair that differs most
}

TEST(Tukey, WhatCannotBeTestedSaysWhy) {
  const auto groups = [](std::vector<std::vector<double>> values) {
    std::vector<Moments> result;
    for (const auto& group : values) result.push_back(moments(group));
    return result;
  };
  EXPECT_FALSE(tukey_hsd(groups({{1, 2, 3}}), 0.05));
  EXPECT_FALSE(tukey_hsd(groups({{1}, {2}, {3}}), 0.05));
  EXPECT_FALSE(tukey_hsd(groups({{1, 1}, {2, 2}}), 0.05));
  EXPECT_FALSE(tukey_hsd(groups({{1, 2}, {}}), 0.05));
  EXPECT_FALSE(tukey_hsd(groups({{1, 2}, {1, std::nan("")}}), 0.05));
  EXPECT_FALSE(tukey_hsd(groups({{1, 2}, {1, 3}}), 1));
}

}  // namespace
}  // namespace stab::stats
