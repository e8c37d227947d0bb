// SPDX-License-Identifier: MIT
#include "results/profiles/words.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include "report/words/quantity.h"

namespace stab::results {

std::string readable(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name != nullptr ? std::string(name.get()) : symbol;
}

std::string one_symbol(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  const std::string name = readable(symbol);
  std::string found = symbol;
  for (std::size_t at = 2; at + 1 < found.size(); ++at) {
    if ((found[at] != 'C' && found[at] != 'D') || found[at + 1] != '2') continue;
    std::string other = found;
    other[at + 1] = '1';
    // "C2" or "D2" may be part of an identifier instead; then changing it changes the readable
    // name.
    if (readable(other) == name) found = std::move(other);
  }
  return found;
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
