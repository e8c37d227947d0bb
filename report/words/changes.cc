// SPDX-License-Identifier: MIT
#include "report/words/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "report/words/answer.h"

namespace stab::report {
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
