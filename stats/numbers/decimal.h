// SPDX-License-Identifier: MIT
// Decimal numbers as they are written, without loss. A double holds 1000000000000.3 only to four
// decimals, and an analysis of such numbers needs their differences.
#pragma once

#include <optional>
#include <string_view>

namespace stab::stats {

__extension__ typedef __int128 Int128;

// digits / 10^scale, with at most 36 digits and a scale of 0 to 36. Not every double is a Decimal.
struct Decimal {
  Int128 digits = 0;
  int scale = 0;
};

// A number from a table. `exact` is absent for "nan" and "inf", and for numbers that need more
// digits than a Decimal has.
struct Number {
  double value = 0;
  std::optional<Decimal> exact{};
};

// Parses "12", "-1.50", "+.5", "1.", "2e-3", "nan", "-inf" (in any case), and returns nothing for
// any other text. `point` is '.' or ','. Spaces, thousands separators and hexadecimal are not
// allowed.
std::optional<Number> parse_number(std::string_view text, char point);

// a - b, rounded to the nearest double, give or take one unit in the last place. Returns nothing if
// the exact difference does not fit.
std::optional<double> difference(const Decimal& a, const Decimal& b);

}  // namespace stab::stats
