// SPDX-License-Identifier: MIT
#include "report/words/quantity.h"

#include <gtest/gtest.h>

namespace stab::report {
namespace {

stats::CellMean mean(double value, double half = 0) {
  stats::CellMean result;
  result.mean = value;
  if (half > 0) {
    result.low = value - half;
    result.high = value + half;
  }
  return result;
}

TEST(Quantity, TheUnitFitsTheLargestMeanAndTheDigitsTheNarrowestInterval) {
  const Scale scale =
      scale_for({mean(512.34e6, 2.2e6), mean(98.1e6, 0.31e6)}, stats::Unit::nanoseconds);
  EXPECT_EQ(quantity(512.34e6, scale), "512.34 ms");
  EXPECT_EQ(quantity(98.1e6, scale), "98.10 ms");
  EXPECT_EQ(number(510.1e6, scale), "510.10");
}

TEST(Quantity, TimesAndMemoryHaveTheirUnits) {
  EXPECT_EQ(quantity(2.5e9, scale_for({mean(2.5e9)}, stats::Unit::nanoseconds)), "2.500 s");
  EXPECT_EQ(quantity(250, scale_for({mean(250)}, stats::Unit::nanoseconds)), "250.0 ns");
  EXPECT_EQ(quantity(3 << 20, scale_for({mean(3 << 20)}, stats::Unit::bytes)), "3.000 MiB");
  EXPECT_EQ(quantity(1234, scale_for({mean(1234)}, stats::Unit::number)), "1234");
  EXPECT_EQ(quantity(0, scale_for({mean(0)}, stats::Unit::bytes)), "0 B");
}

TEST(Quantity, TinyNumbersKeepTheirDigits) {
  const Scale scale =
      scale_for({mean(3.0317e-9, 1e-10), mean(4.02e-9, 9e-11)}, stats::Unit::number);
  EXPECT_EQ(quantity(3.0317e-9, scale), "3.032e-09");
  EXPECT_EQ(quantity(4.02e-9, scale), "4.020e-09");
  EXPECT_EQ(quantity(3e-307, scale_for({mean(3e-307)}, stats::Unit::number)), "3.000e-307");
}

TEST(Quantity, HugeNumbersHaveOnePowerOfTen) {
  const Scale scale = scale_for({mean(2.853e148, 9.4e147), mean(4.24e149)}, stats::Unit::number);
  EXPECT_EQ(quantity(2.853e148, scale), "0.285e+149");
  EXPECT_EQ(quantity(4.24e149, scale), "4.240e+149");
}

TEST(Quantity, ANarrowIntervalShowsItsDigits) {
  EXPECT_EQ(quantity(0.5, scale_for({mean(0.5, 2e-8)}, stats::Unit::number)), "0.500000000");
}

TEST(Quantity, PHasThreeDigitsUntilItIsTiny) {
  EXPECT_EQ(p_text(0.0898596), "0.0899");
  EXPECT_EQ(p_text(0.0046), "0.00460");
  EXPECT_EQ(p_text(0.00032), "0.000320");
  EXPECT_EQ(p_text(1e-12), "<0.0001");
}

TEST(Quantity, CountedThingsAreFewerAndOthersAreLess) {
  for (const char* name : {"instructions", "requests", "page-faults"})
    EXPECT_STREQ(less_of(name), "fewer") << name;
  for (const char* name : {"wall time", "max_rss", "latency_ms", "wait_s", ""})
    EXPECT_STREQ(less_of(name), "less") << name;
}

}  // namespace
}  // namespace stab::report
