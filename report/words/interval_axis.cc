// SPDX-License-Identifier: MIT
#include "report/words/interval_axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stab::report {
namespace {

constexpr double most = 1;

std::string end_text(double share) {
  return share == 0 ? "0" : fmt::format("{:+.3g} %", 100 * share);
}

}  // namespace

IntervalAxis::IntervalAxis(const std::vector<ChangeInterval>& all, std::size_t width)
    : width_(std::max(width, least_width)) {
  for (const ChangeInterval& each : all) {
    low_ = std::min({low_, each.low, each.value});
    high_ = std::max({high_, each.high, each.value});
  }
  low_ = std::max(low_, -most);
  high_ = std::min(high_, most);
  // If nothing differs, 0 is in the middle.
  if (low_ == high_) {
    low_ = -0.01;
    high_ = 0.01;
  }
}

std::size_t IntervalAxis::column(double share) const {
  const double within = std::clamp(share, low_, high_);
  return static_cast<std::size_t>(
      std::lround((within - low_) / (high_ - low_) * static_cast<double>(width_ - 1)));
}

std::string IntervalAxis::header() const {
  std::string text(width_, ' ');
  const std::string left = end_text(low_);
  const std::string right = end_text(high_);
  text.replace(0, left.size(), left);
  text.replace(width_ - right.size(), right.size(), right);
  const std::size_t zero = column(0);
  const bool is_free = zero > left.size() && zero + 1 < width_ - right.size();
  if (is_free) text[zero] = '0';
  return text;
}

std::string IntervalAxis::draw(const ChangeInterval& interval) const {
  std::string text(width_, ' ');
  const std::size_t first = column(interval.low);
  const std::size_t last = column(interval.high);
  for (std::size_t i = first; i <= last; ++i) text[i] = '-';
  text[column(0)] = '|';
  if (first < last) {
    text[first] = interval.low < low_ ? '<' : '[';
    text[last] = interval.high > high_ ? '>' : ']';
  }
  if (interval.value < low_)
    text.front() = '<';
  else if (interval.value > high_)
    text.back() = '>';
  else
    text[column(interval.value)] = 'o';
  return text;
}

}  // namespace stab::report
