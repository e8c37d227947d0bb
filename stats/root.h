// SPDX-License-Identifier: MIT
// Where a monotone function crosses zero.
#pragma once

#include <cmath>
#include <optional>

namespace stab::stats {

// Bisection until the bounds are neighbours. `f` gives an optional number and has different signs
// at `low` and `high`; nothing if it has not, or does not exist on the way.
template <class F>
std::optional<double> find_root(F f, double low, double high) {
  const std::optional<double> at_low = f(low);
  const std::optional<double> at_high = f(high);
  if (!at_low || !at_high || std::signbit(*at_low) == std::signbit(*at_high)) return std::nullopt;
  for (int i = 0; i < 200; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    const std::optional<double> value = f(middle);
    if (!value) return std::nullopt;
    (std::signbit(*value) == std::signbit(*at_low) ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

// The same upwards from `low`, with a step that doubles until the sign changes.
template <class F>
std::optional<double> find_root_above(F f, double low, double step) {
  const std::optional<double> first = f(low);
  if (!first) return std::nullopt;
  double below = low;
  for (int i = 0; i < 60; ++i) {
    const double above = low + step;
    const std::optional<double> value = f(above);
    if (!value) return std::nullopt;
    if (std::signbit(*value) != std::signbit(*first)) return find_root(f, below, above);
    below = above;
    step *= 2;
  }
  return std::nullopt;
}

}  // namespace stab::stats
