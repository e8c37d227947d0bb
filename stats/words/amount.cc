// SPDX-License-Identifier: MIT
#include "stats/words/amount.h"

#include <array>
#include <span>

namespace stab::stats {
namespace {

constexpr std::array<UnitStep, 4> time_units{{{1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}}};
constexpr std::array<UnitStep, 4> byte_units{
    {{1, "B"}, {1024, "KiB"}, {1024.0 * 1024, "MiB"}, {1024.0 * 1024 * 1024, "GiB"}}};

UnitStep largest_below(double size, std::span<const UnitStep> units) {
  UnitStep step = units.front();
  for (const UnitStep& unit : units)
    if (size >= unit.factor) step = unit;
  return step;
}

}  // namespace

UnitStep unit_step(double size, Unit unit) {
  if (unit == Unit::nanoseconds) return largest_below(size, time_units);
  if (unit == Unit::bytes) return largest_below(size, byte_units);
  return {};
}

}  // namespace stab::stats
