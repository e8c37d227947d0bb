// SPDX-License-Identifier: MIT
// Where a number lies in a picture, and which round numbers stand beside it.
#pragma once

#include <string>
#include <vector>

namespace stab::report::html {

// Numbers from low to high; empty until one is in it.
struct Range {
  double low = 0;
  double high = 0;
  bool empty = true;

  void include(double value);          // one that is not finite changes nothing
  [[nodiscard]] Range padded() const;  // by a twentieth; a single number has some around it
};

// Multiples of 1, 2 or 5 times a power of ten, rising.
struct Ticks {
  std::vector<double> at;
  int decimals = 0;  // that tell them apart

  [[nodiscard]] std::string label(double tick) const;
};

// Those within the range, two or more and at most `most` of them; most > 3. A range that is empty, or
// too narrow for its numbers to differ, has none.
Ticks ticks(const Range& range, int most);

// `ratios`: numbers are changes in percent, above -100, and equal ratios are equally far apart.
enum class Spacing { even, ratios };

// A line from numbers to places.
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
