// SPDX-License-Identifier: MIT
#include "report/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

namespace stab::report {
namespace {

using UnitStep = std::pair<double, const char*>;
constexpr std::array<UnitStep, 4> time_units{{{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}}};
constexpr std::array<UnitStep, 4> byte_units{
    {{1, "B"}, {1024, "KiB"}, {1024.0 * 1024, "MiB"}, {1024.0 * 1024 * 1024, "GiB"}}};

Scale unit_for(double value, std::span<const UnitStep> units) {
  Scale scale{.factor = units.front().first, .unit = units.front().second};
  for (const auto& [factor, name] : units)
    if (value >= factor) scale = {.factor = factor, .unit = name};
  return scale;
}

// Decimals that show `digits` digits of the size.
int decimals_for(double size, int digits) {
  if (!(size > 0) || !std::isfinite(size)) return 0;
  return std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(size))), 0, 6);
}

}  // namespace

Scale scale_for(const std::vector<stats::CellMean>& means, stats::Unit unit) {
  double largest = 0;
  double narrowest = std::numeric_limits<double>::infinity();
  for (const stats::CellMean& mean : means) {
    largest = std::max(largest, std::abs(mean.mean));
    if (mean.low && mean.high) narrowest = std::min(narrowest, (*mean.high - *mean.low) / 2);
  }
  Scale scale;
  if (unit == stats::Unit::nanoseconds) scale = unit_for(largest, time_units);
  if (unit == stats::Unit::bytes) scale = unit_for(largest, byte_units);
  scale.decimals = std::isfinite(narrowest) ? decimals_for(narrowest / scale.factor, 2)
                                            : decimals_for(largest / scale.factor, 4);
  return scale;
}

std::string number(double value, const Scale& scale) {
  if (std::abs(value) >= 1e15) return fmt::format("{:.6g}", value / scale.factor);
  return fmt::format("{:.{}f}", value / scale.factor, scale.decimals);
}

std::string quantity(double value, const Scale& scale) {
  const std::string text = number(value, scale);
  return scale.unit.empty() ? text : text + " " + scale.unit;
}

std::string p_text(double p) {
  if (p < 1e-4) return "<0.0001";
  return fmt::format("{:#.3g}", p);
}

std::string short_number(double value) {
  return fmt::format("{:.4g}", value);
}

}  // namespace stab::report
