// SPDX-License-Identifier: MIT
#include "report/drawing/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace stab::report::html {
namespace {

// The smallest number of the form 1, 2 or 5 times a power of ten that is at least `size`.
double round_up(double size) {
  const double power = std::pow(10, std::floor(std::log10(size)));
  for (const double step : {1.0, 2.0, 5.0})
    if (step * power >= size * (1 - 1e-9)) return step * power;
  return 10 * power;
}

}  // namespace

void Range::include(double value) {
  if (!std::isfinite(value)) return;
  low = empty ? value : std::min(low, value);
  high = empty ? value : std::max(high, value);
  empty = false;
}

Range Range::padded() const {
  if (empty) return {.low = 0, .high = 1, .empty = false};
  const double size = std::max(std::abs(low), std::abs(high));
  const double narrowest = size > 0 ? 1e-6 * size : 1;
  const double width = std::max(high - low, narrowest);
  return {.low = low - width / 20, .high = high + width / 20, .empty = false};
}

std::string Ticks::label(double tick) const {
  if (std::abs(tick) >= 1e7) return fmt::format("{:.4g}", tick);
  // The tick -0.0 must not be printed as "-0".
  return fmt::format("{:.{}f}", tick == 0 ? 0.0 : tick, decimals);
}

Ticks ticks(const Range& range, int most) {
  const double width = range.high - range.low;
  const double size = std::max(std::abs(range.low), std::abs(range.high));
  if (range.empty || !(width > 1e-12 * size) || !std::isfinite(width)) return {};
  const double step = round_up(width / (most - 1));
  Ticks found;
  found.decimals = std::clamp(-static_cast<int>(std::floor(std::log10(step) + 1e-9)), 0, 12);
  const double slack = 1e-9;
  const auto first = std::ceil(range.low / step - slack);
  const auto last = std::floor(range.high / step + slack);
  for (double i = first; i <= last; ++i) found.at.push_back(i * step);
  return found;
}

Axis::Axis(const Range& range, double from, double to, Spacing spacing)
    : range_(range), from_(from), to_(to), spacing_(spacing) {
  assert(spacing == Spacing::even || range.low > -100);
}

double Axis::place(double value) const {
  const auto along = [&](double number) {
    return spacing_ == Spacing::ratios ? std::log1p(number / 100) : number;
  };
  const double low = along(range_.low);
  return from_ + (along(value) - low) / (along(range_.high) - low) * (to_ - from_);
}

}  // namespace stab::report::html
