// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

using stats::Analysis;

// Two digits of the interval's half width, but three of the ratio at least.
std::string ratio_text(double ratio, const stats::Spread& spread) {
  const double half = (spread.high - spread.low) / 2;
  if (!(half > 0) || half > ratio / 10) return fmt::format("{:.3g}", ratio);
  return fmt::format("{:.{}f}", ratio,
                     std::clamp(1 - static_cast<int>(std::floor(std::log10(half))), 0, 6));
}

void add_spread(Grid& grid, const Analysis& analysis, bool subjects, const std::string& subject,
                const std::string& treatment, const std::string& levels,
                const stats::Spread& spread) {
  std::vector<Cell> row;
  if (subjects) row.push_back(row_label(analysis, subject, model_scope(analysis, subject)));
  row.push_back({name(treatment)});
  row.push_back({levels});
  row.push_back({ratio_text(spread.ratio, spread), Style::bold});
  row.push_back(
      {fmt::format("{} to {}", ratio_text(spread.low, spread), ratio_text(spread.high, spread))});
  row.push_back({p_text(spread.p)});
  grid.row(std::move(row));
}

}  // namespace

std::string spread_section(const Analysis& analysis, const TextOptions& options) {
  const bool subjects = has_subjects(analysis);
  Grid grid;
  if (subjects) grid.column(name(analysis.spec.subject), Align::left);
  grid.column("treatment", Align::left);
  grid.column("from -> to", Align::left);
  grid.column("variance ratio", Align::right);
  grid.column(level_text(analysis.spec.alpha) + " interval", Align::right);
  grid.column("p", Align::right);
  bool any = false;
  for (const stats::Effect& effect : analysis.effects) {
    if (!effect.spread) continue;
    any = true;
    add_spread(grid, analysis, subjects, effect.subject, effect.treatment,
               name(effect.baseline) + " -> " + name(effect.level), *effect.spread);
  }
  for (const stats::Interaction& each : analysis.interactions) {
    if (!each.spread) continue;
    any = true;
    add_spread(grid, analysis, subjects, each.subject, each.term, "(interaction)", *each.spread);
  }
  if (!any) return "";
  const bool nested = analysis.spec.design == stats::Design::nested;
  return table_section(
      "Changes of the variance",
      fmt::format("The variance ratio compares the variance of {} within a cell at one level with "
                  "the variance at the other level; 1 means no change.",
                  nested ? "the means of seeds" : "the trials"),
      grid, options);
}

}  // namespace stab::report
