// SPDX-License-Identifier: MIT
// Intervals of changes as lines of text under one axis: "   [---o---]     |   ".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stab::report {

// A change and its interval as shares: -0.1 is -10 %.
struct ChangeInterval {
  double low = 0;
  double value = 0;
  double high = 0;
};

// The axis covers 0 and all numbers of all intervals, but at most from -100 to +100 %. Numbers
// beyond are drawn at the edge, as < or >.
class IntervalAxis {
 public:
  static constexpr std::size_t least_width = 16;

  IntervalAxis(const std::vector<ChangeInterval>& all, std::size_t width);

  // "-15 %      0   +5 %".
  [[nodiscard]] std::string header() const;
  [[nodiscard]] std::string draw(const ChangeInterval& interval) const;

 private:
  [[nodiscard]] std::size_t column(double share) const;

  std::size_t width_;
  double low_ = 0;
  double high_ = 0;
};

}  // namespace stab::report
