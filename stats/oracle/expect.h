// SPDX-License-Identifier: MIT
// Compares with R's numbers. Some comparisons also say at the end of the test program how close the
// numbers came: the figures of doc/statistics.md.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
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

// The largest relative deviation of each function; printed when the program ends.
class Deviations {
 public:
  ~Deviations() {
    for (const auto& [function, size] : largest_)
      std::printf("largest deviation of %s: %.1e\n", function.c_str(), size);
  }
  void add(const std::string& function, double size) {
    double& largest = largest_[function];
    largest = std::max(largest, size);
  }
  static Deviations& all() {
    static Deviations deviations;
    return deviations;
  }

 private:
  std::map<std::string, double> largest_;
};

// Each number is near the expected one, relative to it (to 1 for numbers below 1e-300).
inline void expect_near(const std::string& function, std::initializer_list<double> values,
                        std::span<const double> expected, double relative) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = values.begin()[i];
    const double scale = std::abs(expected[i]) > 1e-300 ? std::abs(expected[i]) : 1;
    EXPECT_NEAR(value, expected[i], relative * scale) << function << ", number " << i;
    Deviations::all().add(function, std::abs(value - expected[i]) / scale);
  }
}

}  // namespace stab::stats::oracle
