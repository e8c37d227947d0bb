// SPDX-License-Identifier: MIT
// Decimal numbers as they are written, without loss: doubles hold 1000000000000.3 only to four
// decimals, and an analysis of such numbers needs their differences.
#pragma once

#include <optional>
#include <string_view>

namespace stab::stats {

__extension__ typedef __int128 Int128;

// digits / 10^scale. Not all doubles are Decimals: at most 36 digits, scale 0 to 36.
struct Decimal {
  Int128 digits = 0;
  int scale = 0;
};

// A number from a table. `exact` is absent for numbers that need more digits than a Decimal has,
// and for "nan" and "inf".
struct Number {
  double value = 0;
  std::optional<Decimal> exact{};
};

// "12", "-1.50", "+.5", "1.", "2e-3", "nan", "-inf" (in any case); nothing for everything else.
// `point` is '.' or ','. No spaces, no thousands separators, no hexadecimal.
std::optional<Number> parse_number(std::string_view text, char point);

// a - b, rounded to the nearest double but for one unit in the last place. Nothing if the exact
// difference does not fit.
std::optional<double> difference(const Decimal& a, const Decimal& b);

}  // namespace stab::stats
