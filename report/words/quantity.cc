// SPDX-License-Identifier: MIT
#include "report/words/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>

#include "report/words/answer.h"

namespace stab::report {
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

int magnitude(double size) {
  return static_cast<int>(std::floor(std::log10(size)));
}

// The number of decimals that shows `digits` digits of the size.
int decimals_for(double size, int digits) {
  constexpr int most = 9;
  if (!(size > 0) || !std::isfinite(size)) return 0;
  return std::clamp(digits - 1 - magnitude(size), 0, most);
}

// Chooses one power of ten for all numbers if most of their decimals would be zeros.
void set_exponent(double largest, Scale& scale) {
  constexpr double tiny = 1e-4;
  constexpr double huge = 1e15;
  const double size = largest / scale.factor;
  if (!(size > 0) || !std::isfinite(size) || (size >= tiny && size < huge)) return;
  const int power = std::max(magnitude(size), -307);
  scale.factor *= std::pow(10, power);
  scale.exponent = fmt::format("e{:+03}", power);
}

}  // namespace

UnitStep unit_step(double size, stats::Unit unit) {
  if (unit == stats::Unit::nanoseconds) return largest_below(size, time_units);
  if (unit == stats::Unit::bytes) return largest_below(size, byte_units);
  return {};
}

Scale scale_for(const std::vector<stats::CellMean>& means, stats::Unit unit) {
  double largest = 0;
  double narrowest = std::numeric_limits<double>::infinity();
  for (const stats::CellMean& mean : means) {
    largest = std::max(largest, std::abs(mean.mean));
    if (mean.low && mean.high) narrowest = std::min(narrowest, (*mean.high - *mean.low) / 2);
  }
  const UnitStep step = unit_step(largest, unit);
  Scale scale{.factor = step.factor, .unit = step.name};
  set_exponent(largest, scale);
  scale.decimals = std::isfinite(narrowest) ? decimals_for(narrowest / scale.factor, 2)
                                            : decimals_for(largest / scale.factor, 4);
  return scale;
}

std::string number(double value, const Scale& scale) {
  return fmt::format("{:.{}f}{}", value / scale.factor, scale.decimals, scale.exponent);
}

std::string quantity(double value, const Scale& scale) {
  const std::string text = number(value, scale);
  return scale.unit.empty() ? text : text + " " + scale.unit;
}

std::string p_text(double p) {
  if (p < 1e-4) return "<0.0001";
  return fmt::format("{:#.3g}", p);
}

std::string level_text(double alpha) {
  return fmt::format("{:.4g} %", 100 * (1 - alpha));
}

const char* less_of(std::string_view response) {
  // Names of times and sizes may end like plurals.
  for (const std::string_view ending : {"ss", "_ns", "_us", "_ms", "_s"})
    if (response.ends_with(ending)) return "less";
  return response.ends_with('s') ? "fewer" : "less";
}

std::string short_number(double value) {
  return fmt::format("{:.4g}", value);
}

namespace {

const char* sign(double x) {
  return x > 0 ? "+" : "";
}

}  // namespace

std::string change_text(std::optional<double> ratio, std::optional<double> low,
                        std::optional<double> high) {
  return ratio ? percent_change(*ratio, low, high) : "-";
}

std::string interval_text(std::optional<double> low, std::optional<double> high) {
  return low && high ? percent_interval(*low, *high) : "-";
}

Scale difference_scale(const stats::Analysis& analysis, const std::string& subject,
                       std::optional<double> low, std::optional<double> high) {
  std::vector<stats::CellMean> means{{.mean = 0, .low = low, .high = high}};
  std::ranges::copy_if(analysis.means, std::back_inserter(means), [&](const auto& mean) {
    return subject.empty() || mean.subject == subject;
  });
  // If the difference has an interval, the means' own intervals must not choose its digits.
  for (std::size_t i = 1; i < means.size() && low && high; ++i) means[i].low.reset();
  return scale_for(means, analysis.spec.unit);
}

std::string difference_text(std::optional<double> value, const Scale& scale) {
  return value ? sign(*value) + quantity(*value, scale) : "-";
}

std::string range_text(std::optional<double> low, std::optional<double> high, const Scale& scale) {
  if (!low || !high) return "-";
  return fmt::format("{}{} to {}{}", sign(*low), number(*low, scale), sign(*high),
                     quantity(*high, scale));
}

ChangeWords change_words(const stats::Analysis& analysis, const stats::Effect& effect) {
  const bool ratio = effect.low || (effect.ratio && !effect.difference_low);
  constexpr std::string_view without = "exact";
  if (effect.exact && effect.ratio)
    return {.change = change_text(effect.ratio, {}, {}),
            .interval = std::string(without),
            .adjusted = std::string(without)};
  if (ratio)
    return {
        .change = change_text(effect.ratio, effect.low, effect.high),
        .interval = interval_text(effect.low, effect.high),
        .adjusted = effect.low ? interval_text(effect.low_adjusted, effect.high_adjusted) : "-"};
  const Scale scale =
      difference_scale(analysis, effect.subject, effect.difference_low, effect.difference_high);
  return {.change = difference_text(effect.difference, scale),
          .interval = range_text(effect.difference_low, effect.difference_high, scale),
          .adjusted = range_text(effect.low_adjusted, effect.high_adjusted, scale),
          .ratio = false};
}

}  // namespace stab::report
