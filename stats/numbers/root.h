// SPDX-License-Identifier: MIT
// Finds the zero of a monotone function.
#pragma once

#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>
#include <optional>

namespace stab::stats {

// Searches by TOMS 748 (Alefeld, Potra and Shi, ACM Transactions on Mathematical Software 1995)
// until the bounds are neighbouring doubles. `f` returns an optional number. The result is nothing
// if the signs at `low` and `high` are equal, or if `f` returns nothing on the way.
template <class F>
std::optional<double> find_root(F f, double low, double high) {
  const std::optional<double> at_low = f(low);
  const std::optional<double> at_high = f(high);
  if (!at_low || !at_high || std::signbit(*at_low) == std::signbit(*at_high)) return std::nullopt;
  if (*at_low == 0) return low;
  if (*at_high == 0) return high;
  bool exists = true;
  const auto value = [&](double x) {
    const std::optional<double> y = f(x);
    exists = exists && y.has_value();
    return y.value_or(0);  // ends the search
  };
  std::uintmax_t steps = 200;
  const auto [below, above] = boost::math::tools::toms748_solve(
      value, low, high, *at_low, *at_high, boost::math::tools::eps_tolerance<double>(), steps);
  return exists ? std::optional(below + (above - below) / 2) : std::nullopt;
}

// The same search above `low`; the step doubles until the sign changes.
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
