// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/changes.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"

namespace stab::report {

std::string interactions_section(const stats::Analysis& analysis, const TextOptions& options) {
  if (analysis.interactions.empty()) return "";
  const bool subjects = has_subjects(analysis);
  const bool log_scale = analysis.spec.log_scale;
  const bool family = analysis.interactions.size() > 1;
  Grid grid;
  if (subjects) grid.column(name(analysis.spec.subject), Align::left);
  grid.column("interaction", Align::left);
  grid.column(log_scale ? "change" : "difference", Align::right);
  grid.column(level_text(analysis.spec.alpha) + " interval", Align::right);
  grid.column("p", Align::right);
  if (family) grid.column("adjusted p", Align::right);
  for (const stats::Interaction& each : analysis.interactions) {
    const Scale scale = difference_scale(analysis, each.subject, each.low, each.high);
    std::vector<Cell> row;
    if (subjects) row.push_back(row_label(analysis, each.subject, each.scope));
    row.push_back({one_line(each.term, 60)});
    row.push_back({log_scale ? change_text(each.ratio, each.low, each.high)
                             : difference_text(each.difference, scale),
                   Style::bold});
    row.push_back(
        {log_scale ? interval_text(each.low, each.high) : range_text(each.low, each.high, scale)});
    row.push_back({each.p ? p_text(*each.p) : "-"});
    if (family) row.push_back({each.p_adjusted ? p_text(*each.p_adjusted) : "-"});
    grid.row(std::move(row));
  }
  const std::string corrected = fmt::format(
      " The p-values of all interactions are adjusted together: the probability that any adjusted "
      "p is wrongly below {0:.4g} is at most {1:.4g} %.",
      analysis.spec.alpha, 100 * analysis.spec.alpha);
  return table_section(
      "Interactions",
      std::string(log_scale ? "An interaction is how much one treatment's change depends on the "
                              "level of the other treatment; 0 % means no interaction."
                            : "An interaction is how much the effect of one treatment depends on "
                              "the level of the other treatment; 0 means no interaction.") +
          (family ? corrected : ""),
      grid, options);
}

}  // namespace stab::report
