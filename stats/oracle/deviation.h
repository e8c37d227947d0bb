// SPDX-License-Identifier: MIT
// Comparing with R's numbers, and saying at the end of the test program how close they came: the
// figures of doc/statistics.md.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <span>
#include <string>

namespace stab::stats::oracle {

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
