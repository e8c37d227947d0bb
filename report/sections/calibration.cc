// SPDX-License-Identifier: MIT
// The results of a calibration for each benchmark, and the sentence with which other reports quote
// it.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "report/sections/section.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"

namespace stab::report {
namespace {

std::string percent(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

std::string range_of(const std::optional<stats::Interval>& interval, auto&& words) {
  return interval ? fmt::format("{} to {}", words(interval->low), words(interval->high)) : "-";
}

Value low_of(const std::optional<stats::Interval>& interval) {
  return interval ? Value(interval->low) : Value();
}

Value high_of(const std::optional<stats::Interval>& interval) {
  return interval ? Value(interval->high) : Value();
}

}  // namespace

Row floor_row(const stats::Spec& spec, std::string label, const stats::Floor& floor) {
  const std::string level = level_text(spec.alpha);
  const double n = static_cast<double>(floor.comparisons);
  return {
      column("benchmark", known(floor.subject), name(spec.subject), std::move(label))
          .named(longest_name)
          .in(Style::bold),
      column("comparisons", floor.comparisons, "comparisons", fmt::format("{}", floor.comparisons)),
      column("significant", floor.significant, "significant", fmt::format("{}", floor.significant)),
      shown_only("share", floor.share ? percent(static_cast<double>(floor.significant) / n) : "-"),
      shown_only(level + " interval", range_of(floor.share, percent)),
      json_only("share_low", low_of(floor.share)),
      json_only("share_high", high_of(floor.share)),
      column("noise_floor", known(floor.margin), "noise floor",
             floor.margin ? margin_words(*floor.margin) : "-")
          .in(Style::bold),
      shown_only(level + " interval", range_of(floor.interval, margin_words)),
      json_only("low", low_of(floor.interval)),
      json_only("high", high_of(floor.interval)),
      json_only("lost", floor.lost),
      json_only("loss_low", known(floor.loss_low)),
      json_only("loss_high", known(floor.loss_high)),
      json_only("loss_p", known(floor.loss_p)),
  };
}

Section calibration_section(const stats::Analysis& analysis) {
  if (!analysis.calibration) return {};
  const stats::Calibration& calibration = *analysis.calibration;
  Part part;
  for (const stats::Floor& floor : calibration.benchmarks)
    part.rows.push_back(floor_row(analysis.spec, floor.subject, floor));
  part.rows.emplace_back();
  part.rows.push_back(floor_row(analysis.spec, "any one of them", calibration.any));
  if (calibration.suite.comparisons > 0)
    part.rows.push_back(floor_row(analysis.spec, "their mean", calibration.suite));
  return {
      .title = "A/A comparisons",
      .words = fmt::format("Each benchmark is compared with itself several times, in {} blocks "
                           "each time. A comparison is significant if p < {:.3g}; by chance alone, "
                           "expect {} of the comparisons to be significant. In {} of all "
                           "comparisons of a benchmark with itself, the change lies within the "
                           "noise floor.",
                           calibration.blocks, analysis.spec.alpha, percent(analysis.spec.alpha),
                           level_text(analysis.spec.alpha)),
      .parts = {std::move(part)}};
}

std::string date_text(std::int64_t ns_since_1970) {
  const std::time_t seconds = static_cast<std::time_t>(ns_since_1970 / 1'000'000'000);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(seconds));
}

std::string by_whom(const NoiseFloor& floor) {
  if (floor.by_same_user || !floor.by_user) return "";
  return *floor.by_user == 0 ? " by root" : fmt::format(" by user {}", *floor.by_user);
}

std::string noise_text(const NoiseFloor& floor, bool has_control) {
  std::string text = fmt::format("this machine's noise floor: {}", margin_words(floor.margin));
  if (floor.low && floor.high)
    text += fmt::format(" ({} interval {} to {})", level_text(floor.alpha),
                        margin_words(*floor.low), margin_words(*floor.high));
  if (!floor.holds_here)
    return text + fmt::format(", calibrated for {} blocks {}{}", floor.blocks,
                              date_text(floor.at_ns), by_whom(floor));
  return text + fmt::format(
                    " in comparisons of {} blocks, calibrated {}{}: equal programs differed by "
                    "less in {} of the comparisons; {}",
                    floor.blocks, date_text(floor.at_ns), by_whom(floor), level_text(floor.alpha),
                    has_control ? "here, this run's own control decides"
                                : "this run has no control, so repeat it to confirm a smaller "
                                  "change");
}

}  // namespace stab::report
