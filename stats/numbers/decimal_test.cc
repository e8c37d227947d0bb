// SPDX-License-Identifier: MIT
#include "stats/numbers/decimal.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace stab::stats {
namespace {

double value_of(std::string_view text, char point = '.') {
  const auto number = parse_number(text, point);
  if (!number) ADD_FAILURE() << text << " is no number";
  return number ? number->value : 0;
}

double distance(std::string_view a, std::string_view b) {
  const auto left = parse_number(a, '.');
  const auto right = parse_number(b, '.');
  if (!left || !right || !left->exact || !right->exact) {
    ADD_FAILURE() << a << " or " << b << " is no decimal";
    return 0;
  }
  return difference(*left->exact, *right->exact).value_or(std::nan(""));
}

TEST(Decimal, NumbersInAllFormsHaveTheirValue) {
  EXPECT_EQ(value_of("12"), 12);
  EXPECT_EQ(value_of("-1.50"), -1.5);
  EXPECT_EQ(value_of("+.5"), 0.5);
  EXPECT_EQ(value_of("1."), 1);
  EXPECT_EQ(value_of("2e-3"), 0.002);
  EXPECT_EQ(value_of("2.5E+3"), 2500);
  EXPECT_EQ(value_of("1,5", ','), 1.5);
  EXPECT_EQ(value_of("0.1"), 0.1);
  EXPECT_EQ(value_of("123456789012345678901234567890"), 123456789012345678901234567890.0);
  EXPECT_EQ(value_of("1.7976931348623157e308"), std::numeric_limits<double>::max());
  EXPECT_EQ(value_of("5e-324"), 5e-324);
  EXPECT_EQ(value_of("00000000000000000000000000000000000000000000.25"), 0.25);
}

TEST(Decimal, WhatDoublesCannotHoldIsZeroOrInfinite) {
  EXPECT_EQ(value_of("1e-400"), 0);
  EXPECT_TRUE(std::isinf(value_of("-1e400")));
  EXPECT_TRUE(std::isinf(value_of("0.5e2147483647")));
  EXPECT_EQ(value_of("0.5e-2147483648"), 0);
  EXPECT_TRUE(std::isinf(value_of("Infinity")));
  EXPECT_TRUE(std::isinf(value_of("-inf")));
  EXPECT_TRUE(std::isnan(value_of("NaN")));
}

TEST(Decimal, WhatIsNoNumberIsRefused) {
  for (const char* text : {"", "-", ".", "1.2.3", "1,5", "1 000", " 1", "0x10", "1e", "1e+", "1ee3",
                           "--1", "e5", "1_000", "12ms", "infinit", "na"})
    EXPECT_FALSE(parse_number(text, '.')) << text;
}

TEST(Decimal, DifferencesAreThoseOfTheDecimals) {
  EXPECT_EQ(distance("1000000000000.3", "1000000000000.4"), -0.1);
  EXPECT_EQ(distance("107.8681568", "107.8681465"), 1.03e-5);
  EXPECT_EQ(distance("9007199254740993", "9007199254740992"), 1);
  EXPECT_EQ(distance("1e30", "1"), 1e30);
  EXPECT_EQ(distance("0.000", "0"), 0);
  EXPECT_EQ(distance("-2.5", "2.5e0"), -5);
}

TEST(Decimal, ADifferenceThatDoesNotFitIsAbsent) {
  EXPECT_TRUE(std::isnan(distance("1e35", "1e-35")));
}

TEST(Decimal, NumbersOfManyDigitsHaveNoDecimal) {
  EXPECT_FALSE(parse_number("1e300", '.')->exact);
  EXPECT_FALSE(parse_number("1e-300", '.')->exact);
  EXPECT_FALSE(parse_number("0.1234567890123456789012345678901234567", '.')->exact);
  EXPECT_FALSE(parse_number("1e2147483647", '.')->exact);
}

}  // namespace
}  // namespace stab::stats
