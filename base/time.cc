// SPDX-License-Identifier: MIT
#include "base/time.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace stab {
namespace {

using std::chrono::nanoseconds;

constexpr std::array<std::pair<std::string_view, double>, 7> units{
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"m", 60e9}, {"h", 3600e9}}};

}  // namespace

std::optional<nanoseconds> parse_duration(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || std::signbit(number) || !std::isfinite(number)) return std::nullopt;
  const std::string_view unit(end, text.data() + text.size());
  for (const auto& [name, factor] : units) {
    if (unit != name) continue;
    const double value = number * factor;
    if (value > 9e18) return std::nullopt;
    return nanoseconds(std::llround(value));
  }
  return std::nullopt;
}

std::string format_duration(nanoseconds duration) {
  const double ns = static_cast<double>(duration.count());
  if (ns < 0) return "-" + format_duration(-duration);
  if (ns < 999.5) return fmt::format("{:.0f} ns", ns);
  if (ns < 999.5e3) return fmt::format("{:.3g} us", ns / 1e3);
  if (ns < 999.5e6) return fmt::format("{:.3g} ms", ns / 1e6);
  if (ns < 59.95e9) return fmt::format("{:.3g} s", ns / 1e9);
  const long long seconds = std::llround(ns / 1e9);
  if (seconds < 3600) return fmt::format("{} min {} s", seconds / 60, seconds % 60);
  const long long minutes = std::llround(ns / 60e9);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

}  // namespace stab
