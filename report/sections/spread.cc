// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

using stats::Analysis;

// Shows two digits of the interval's half width, but at least three digits of the ratio.
std::string ratio_text(double ratio, const stats::Spread& spread) {
  const double half = (spread.high - spread.low) / 2;
  if (!(half > 0) || half > ratio / 10) return fmt::format("{:.3g}", ratio);
  return fmt::format("{:.{}f}", ratio,
                     std::clamp(1 - static_cast<int>(std::floor(std::log10(half))), 0, 6));
}

Row spread_row(const Analysis& analysis, const std::string& subject, const std::string& treatment,
               const std::string& levels, const stats::Spread& spread) {
  return {
      subject_column(analysis, subject, model_scope(analysis, subject)),
      shown_only("treatment", treatment).named(longest_name),
      shown_only("from -> to", levels).left(),
      shown_only("variance ratio", ratio_text(spread.ratio, spread)).in(Style::bold),
      shown_only(
          level_text(analysis.spec.alpha) + " interval",
          fmt::format("{} to {}", ratio_text(spread.low, spread), ratio_text(spread.high, spread))),
      shown_only("p", p_text(spread.p)),
  };
}

}  // namespace

Value spread_value(const std::optional<stats::Spread>& spread) {
  if (!spread) return {};
  return Row{json_only("ratio", spread->ratio), json_only("low", spread->low),
             json_only("high", spread->high), json_only("p", spread->p)};
}

Section spread_section(const Analysis& analysis) {
  Part part;
  for (const stats::Effect& effect : analysis.effects)
    if (effect.spread)
      part.rows.push_back(spread_row(analysis, effect.subject, effect.treatment,
                                     name(effect.baseline) + " -> " + name(effect.level),
                                     *effect.spread));
  for (const stats::Interaction& each : analysis.interactions)
    if (each.spread)
      part.rows.push_back(
          spread_row(analysis, each.subject, each.term, "(interaction)", *each.spread));
  if (part.rows.empty()) return {};
  const bool nested = analysis.spec.design == stats::Design::nested;
  return {.title = "Changes of the variance",
          .words = fmt::format(
              "The variance ratio compares the variance of {} within a cell at one level with the "
              "variance at the other level; 1 means no change.",
              nested ? "the means of seeds" : "the trials"),
          .parts = {std::move(part)}};
}

}  // namespace stab::report
