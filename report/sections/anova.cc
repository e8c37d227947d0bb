// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

using stats::Analysis;

std::string share_text(const stats::AnovaRow& row) {
  if (!row.omega2) return "";
  if (!row.eta2_low) return fmt::format("{:.3f}", *row.omega2);
  return fmt::format("{:.3f} ({:.2f} to {:.2f})", *row.omega2, *row.eta2_low, *row.eta2_high);
}

std::string df_text(double df) {
  return df == std::floor(df) ? fmt::format("{:.0f}", df) : fmt::format("{:.6g}", df);
}

struct Columns {
  bool strata = false;
  bool epsilon = false;
};

Columns columns_of(const stats::AnovaTable& table) {
  Columns columns;
  for (const stats::AnovaRow& row : table.rows) {
    columns.strata = columns.strata || !row.stratum.empty();
    columns.epsilon = columns.epsilon || row.epsilon;
  }
  return columns;
}

Grid grid_for(const stats::AnovaTable& table) {
  const Columns columns = columns_of(table);
  Grid grid;
  if (columns.strata) grid.column("stratum", Align::left);
  grid.column("term", Align::left);
  for (const char* header : {"df", "sum of squares", "mean square", "F"})
    grid.column(header, Align::right);
  if (columns.epsilon) grid.column("epsilon", Align::right);
  for (const char* header : {"p", "partial omega2"}) grid.column(header, Align::right);
  return grid;
}

void add_row(Grid& grid, const stats::AnovaRow& row, const std::string& stratum, Columns columns) {
  const auto optional = [](std::optional<double> x) {
    return x ? short_number(*x) : std::string();
  };
  std::vector<Cell> cells;
  if (columns.strata) cells.push_back({one_line(stratum, 60)});
  cells.push_back({one_line(row.term, 60), row.f ? Style::bold : Style::plain});
  cells.push_back({df_text(row.df)});
  cells.push_back({short_number(row.ss)});
  cells.push_back({optional(row.ms)});
  cells.push_back({optional(row.f)});
  if (columns.epsilon) cells.push_back({row.epsilon ? fmt::format("{:.3f}", *row.epsilon) : ""});
  cells.push_back({row.p ? p_text(*row.p) : ""});
  cells.push_back({share_text(row)});
  grid.row(std::move(cells));
}

// Terms with more degrees of freedom than their units allow.
std::string untested_words(const stats::AnovaTable& table) {
  const stats::AnovaRow& units = table.rows.front();
  if (units.stratum.empty() || units.term != "Residuals") return "";
  std::string terms;
  for (const stats::AnovaRow& row : table.rows)
    if (!row.f && row.df > units.df && row.stratum == units.stratum + ":" + row.term)
      terms += (terms.empty() ? "" : ", ") + one_line(row.term, 60);
  if (terms.empty()) return "";
  return fmt::format(
      "No F for {0}: a term with this many degrees of freedom needs more than {2:.0f} levels of "
      "{1}. The table of changes compares the levels one by one.",
      terms, one_line(units.stratum, 60), units.df + 1);
}

std::string table_text(const Analysis& analysis, const stats::AnovaTable& table,
                       const TextOptions& options) {
  const std::string label = label_of(analysis, table.subject, table.scope);
  const std::string who = label.empty() ? "" : label + ": ";
  std::string text =
      "  " + styled(who + one_line(table.formula, 200), Style::bold, options.colour) + "\n";
  if (table.rows.empty()) return text + "\n";
  Grid grid = grid_for(table);
  std::string last;
  for (const stats::AnovaRow& row : table.rows) {
    add_row(grid, row, row.stratum == last ? "" : row.stratum, columns_of(table));
    last = row.stratum;
  }
  text += grid.render(options.colour);
  const std::string untested = untested_words(table);
  return text + (untested.empty() ? "" : paragraph("  ", untested, options.width)) + "\n";
}

bool has_epsilon(const Analysis& analysis) {
  return std::ranges::any_of(analysis.tables,
                             [](const auto& table) { return columns_of(table).epsilon; });
}

}  // namespace

std::string anova_section(const Analysis& analysis, const TextOptions& options) {
  if (analysis.tables.empty()) return "";
  std::string words =
      "F is the ratio of a term's mean square to the mean square of the residuals in the same "
      "stratum. A small p means that the term matters. Partial omega2 estimates a term's share of "
      "the variance that the term and the error cause together. The interval of partial "
      "omega2 excludes 0 if p is below alpha.";
  if (has_epsilon(analysis))
    words +=
        " Epsilon (Greenhouse and Geisser) is 1 if a term's contrasts vary equally between units. "
        "To compute p, the degrees of freedom of F are multiplied by epsilon.";
  std::string text = heading("Analysis of variance", words, options);
  for (const stats::AnovaTable& table : analysis.tables)
    text += table_text(analysis, table, options);
  return text;
}

}  // namespace stab::report
