// SPDX-License-Identifier: MIT
// Axes of pictures: maps numbers to places and chooses round numbers as ticks.
#pragma once

#include <string>
#include <vector>

namespace stab::report::html {

// The numbers from low to high. It is empty until it includes a number.
struct Range {
  double low = 0;
  double high = 0;
  bool empty = true;

  void include(double value);          // ignores a number that is not finite
  [[nodiscard]] Range padded() const;  // wider by a twentieth on each side, and never of width 0
};

// Ascending multiples of 1, 2 or 5 times a power of ten.
struct Ticks {
  std::vector<double> at;
  int decimals = 0;  // enough to tell the ticks apart

  [[nodiscard]] std::string label(double tick) const;
};

// Returns between two and `most` ticks within the range, where most > 3. Returns no ticks if the
// range is empty or too narrow for its numbers to differ.
Ticks ticks(const Range& range, int most);

// `ratios`: the numbers are changes in percent, above -100, and equal ratios have equal distances.
enum class Spacing { even, ratios };

// Maps numbers to places along a line.
class Axis {
 public:
  // range.low lies at `from`, range.high at `to`.
  Axis(const Range& range, double from, double to, Spacing spacing = Spacing::even);
  [[nodiscard]] double place(double value) const;
  [[nodiscard]] const Range& range() const { return range_; }
  [[nodiscard]] double from() const { return from_; }
  [[nodiscard]] double to() const { return to_; }

 private:
  Range range_;
  double from_;
  double to_;
  Spacing spacing_;
};

}  // namespace stab::report::html
