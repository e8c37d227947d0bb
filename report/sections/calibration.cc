// SPDX-License-Identifier: MIT
// What a calibration found, benchmark by benchmark, and how other reports quote it.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/answer.h"
#include "report/words/grid.h"

namespace stab::report {
namespace {

std::string percent(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

void add_floor(Grid& grid, std::string label, const stats::Floor& floor) {
  const double n = static_cast<double>(floor.comparisons);
  grid.row(
      {{std::move(label), Style::bold},
       {fmt::format("{}", floor.comparisons)},
       {fmt::format("{}", floor.significant)},
       {floor.share ? percent(static_cast<double>(floor.significant) / n) : "-"},
       {floor.share ? fmt::format("{} to {}", percent(floor.share->low), percent(floor.share->high))
                    : "-"},
       {floor.margin ? margin_words(*floor.margin) : "-", Style::bold},
       {floor.interval ? fmt::format("{} to {}", margin_words(floor.interval->low),
                                     margin_words(floor.interval->high))
                       : "-"}});
}

}  // namespace

std::string calibration_section(const stats::Analysis& analysis, const TextOptions& options) {
  if (!analysis.calibration) return "";
  const stats::Calibration& calibration = *analysis.calibration;
  const std::string level = level_text(analysis.spec.alpha);
  Grid grid;
  grid.column(name(analysis.spec.subject), Align::left);
  for (const char* title : {"comparisons", "significant", "share"})
    grid.column(title, Align::right);
  grid.column(level + " interval", Align::right);
  grid.column("noise floor", Align::right);
  grid.column(level + " interval", Align::right);
  for (const stats::Floor& floor : calibration.benchmarks)
    add_floor(grid, name(floor.subject), floor);
  grid.gap();
  add_floor(grid, "any one of them", calibration.any);
  if (calibration.suite.comparisons > 0) add_floor(grid, "their mean", calibration.suite);
  return table_section(
      "A/A comparisons",
      fmt::format("Each benchmark is compared with itself in {} blocks, again and again. A "
                  "comparison is significant if p < {:.3g}; although nothing differs, expect this "
                  "in {} of the comparisons. The noise "
                  "floor is the change that {} of these comparisons do not exceed.",
                  calibration.blocks, analysis.spec.alpha, percent(analysis.spec.alpha), level),
      grid, options);
}

std::string date_text(std::int64_t ns_since_1970) {
  const std::time_t seconds = static_cast<std::time_t>(ns_since_1970 / 1'000'000'000);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(seconds));
}

std::string by_whom(const NoiseFloor& floor) {
  if (floor.by_same_user || !floor.by_user) return "";
  return *floor.by_user == 0 ? " by root" : fmt::format(" by user {}", *floor.by_user);
}

std::string noise_text(const NoiseFloor& floor) {
  std::string text = fmt::format("this machine's noise floor: {}", margin_words(floor.margin));
  if (floor.low && floor.high)
    text += fmt::format(" ({} interval {} to {})", level_text(floor.alpha),
                        margin_words(*floor.low), margin_words(*floor.high));
  if (!floor.holds_here)
    return text + fmt::format(", calibrated for {} blocks {}{}", floor.blocks,
                              date_text(floor.at_ns), by_whom(floor));
  return text + fmt::format(
                    " in comparisons of {} blocks, calibrated {}{}; smaller differences cannot be "
                    "told from noise",
                    floor.blocks, date_text(floor.at_ns), by_whom(floor));
}

}  // namespace stab::report
