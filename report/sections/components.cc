// SPDX-License-Identifier: MIT
// Nested designs: seeds against the runs of a seed.
#include <fmt/format.h>

#include <cmath>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"

namespace stab::report {

std::string components_section(const stats::Analysis& analysis, const TextOptions& options) {
  if (analysis.components.empty()) return "";
  const bool subjects = has_subjects(analysis);
  const bool log_scale = analysis.spec.log_scale;
  Grid grid;
  if (subjects) grid.column(name(analysis.spec.subject), Align::left);
  grid.column("sd between seeds", Align::right);
  grid.column("sd between runs of a seed", Align::right);
  grid.column("seeds' share of the variance", Align::right);
  grid.column("p", Align::right);
  const auto sd = [&](std::optional<double> variance) {
    if (!variance) return std::string("-");
    return log_scale ? fmt::format("{:.3g} %", 100 * std::sqrt(*variance))
                     : short_number(std::sqrt(*variance));
  };
  const auto range = [&](std::optional<double> low, std::optional<double> high) {
    return low && high ? fmt::format(" ({} to {})", sd(low), sd(high)) : std::string();
  };
  for (const stats::VarianceComponents& c : analysis.components) {
    std::vector<Cell> row;
    if (subjects) row.push_back({name(c.subject), Style::bold});
    row.push_back({sd(c.between) + range(c.between_low, c.between_high)});
    row.push_back({sd(c.within) + range(c.within_low, c.within_high)});
    const bool share = c.between && c.within && *c.between + *c.within > 0;
    row.push_back(
        {share ? fmt::format("{:.0f} %", 100 * *c.between / (*c.between + *c.within)) : "-"});
    row.push_back({c.p ? p_text(*c.p) : "-"});
    grid.row(std::move(row));
  }
  return table_section(
      "Sources of variance",
      fmt::format(
          "The table shows how much of the variance the random factor {} explains within one level "
          "of the treatments. The p-value tests the hypothesis that the seed makes no difference.",
          name(analysis.spec.seed)),
      grid, options);
}

}  // namespace stab::report
