// SPDX-License-Identifier: MIT
// Comparing with R's numbers.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>

#include "stats/verdicts/analysis.h"

namespace stab::stats::oracle {

// Equal to nine digits or more.
inline void expect_close(double value, double expected, double relative = 1e-9) {
  EXPECT_NEAR(value, expected, relative * std::abs(expected));
}

inline void expect_close(std::optional<double> value, double expected, double relative = 1e-9) {
  ASSERT_TRUE(value.has_value());
  EXPECT_NEAR(*value, expected, relative * std::abs(expected));
}

struct Expected {
  std::string stratum;
  std::string term;
  double df = 0;
  double ss = 0;
  std::optional<double> f{};
  std::optional<double> p{};
};

inline void expect_row(const AnovaRow& row, const Expected& expected) {
  SCOPED_TRACE(expected.stratum + " | " + expected.term);
  EXPECT_EQ(row.stratum, expected.stratum);
  EXPECT_EQ(row.term, expected.term);
  EXPECT_EQ(row.df, expected.df);
  expect_close(row.ss, expected.ss);
  expect_close(row.ms, expected.ss / expected.df);
  EXPECT_EQ(row.f.has_value(), expected.f.has_value());
  if (expected.f) expect_close(row.f, *expected.f);
  if (expected.p) expect_close(row.p, *expected.p, 1e-7);
}

inline void expect_table(const AnovaTable& table, const std::vector<Expected>& expected) {
  ASSERT_EQ(table.rows.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) expect_row(table.rows[i], expected[i]);
}

}  // namespace stab::stats::oracle
