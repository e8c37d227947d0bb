// SPDX-License-Identifier: MIT
#include "stabd/results/profiles/words.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "report/words/quantity.h"

namespace stab::results {

std::string readable(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name != nullptr ? std::string(name.get()) : symbol;
}

std::string amount(double value, const std::string& unit) {
  const auto step = report::unit_step(
      std::abs(value), unit == "ns" ? stats::Unit::nanoseconds : stats::Unit::number);
  const double size = value / step.factor;
  const int decimals = std::abs(size) >= 100 ? 0 : std::abs(size) >= 10 ? 1 : 2;
  return fmt::format("{:.{}f}{}{}", size, decimals, *step.name == '\0' ? "" : " ", step.name);
}

std::string change(double value, const std::string& unit) {
  return (value < 0 ? "" : "+") + amount(value, unit);
}

}  // namespace stab::results
