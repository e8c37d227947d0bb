// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

constexpr std::size_t longest_term = 60;

std::string share_text(const stats::AnovaRow& row) {
  if (!row.omega2) return "";
  if (!row.eta2_low) return fmt::format("{:.3f}", *row.omega2);
  return fmt::format("{:.3f} ({:.2f} to {:.2f})", *row.omega2, *row.eta2_low, *row.eta2_high);
}

std::string df_text(double df) {
  return df == std::floor(df) ? fmt::format("{:.0f}", df) : fmt::format("{:.6g}", df);
}

Row anova_row(const stats::AnovaTable& table, const stats::AnovaRow& row) {
  const auto number = [](std::optional<double> x) { return x ? short_number(*x) : ""; };
  return {
      json_only("benchmark", known(table.subject)),
      json_only("programs", known(scope_word(table.scope))),
      column("stratum", known(row.stratum), "stratum", row.stratum)
          .named(longest_term)
          .once()
          .rare(),
      column("term", row.term, "term", row.term)
          .named(longest_term)
          .in(row.f ? Style::bold : Style::plain)
          .on_page_as(row.aliases.empty() ? "" : row.term + " (or " + row.aliases + ")"),
      json_only("aliases", known(row.aliases)),
      column("df", row.df, "df", df_text(row.df)),
      column("ss", row.ss, "sum of squares", short_number(row.ss)),
      column("ms", known(row.ms), "mean square", number(row.ms)),
      column("F", known(row.f), "F", number(row.f)),
      // People see epsilon beside the F whose degrees of freedom it corrects. JSON has it below.
      shown_only("epsilon", row.epsilon ? fmt::format("{:.3f}", *row.epsilon) : "").rare(),
      column("p", known(row.p), "p", row.p ? p_text(*row.p) : ""),
      json_only("p_adjusted", known(row.p_adjusted)),
      json_only("reason", known(row.reason)),
      json_only("epsilon", known(row.epsilon)),
      json_only("partial_eta2", known(row.eta2)),
      column("partial_omega2", known(row.omega2), "partial omega2", share_text(row)),
      json_only("partial_eta2_low", known(row.eta2_low)),
      json_only("partial_eta2_high", known(row.eta2_high)),
  };
}

// Explains why terms with more degrees of freedom than the units allow have no F; "" if there are
// no such terms.
std::string untested_words(const stats::AnovaTable& table) {
  const stats::AnovaRow& units = table.rows.front();
  if (units.stratum.empty() || units.term != "Residuals") return "";
  std::string terms;
  for (const stats::AnovaRow& row : table.rows)
    if (!row.f && row.df > units.df && row.stratum == units.stratum + ":" + row.term)
      terms += (terms.empty() ? "" : ", ") + one_line(row.term, longest_term);
  if (terms.empty()) return "";
  return fmt::format(
      "No F for {0}: a term with this many degrees of freedom needs more than {2:.0f} levels of "
      "{1}. The table of changes compares the levels one by one.",
      terms, one_line(units.stratum, longest_term), units.df + 1);
}

Part anova_part(const stats::Analysis& analysis, const stats::AnovaTable& table) {
  Part part{.owner = label_of(analysis, table.subject, table.scope), .title = table.formula};
  for (const stats::AnovaRow& row : table.rows) part.rows.push_back(anova_row(table, row));
  const std::string untested = table.rows.empty() ? "" : untested_words(table);
  if (!untested.empty()) part.below.push_back(untested);
  return part;
}

bool has_epsilon(const stats::AnovaTable& table) {
  return std::ranges::any_of(table.rows, [](const auto& row) { return row.epsilon.has_value(); });
}

}  // namespace

Section anova_section(const stats::Analysis& analysis) {
  Section section{
      .title = "Analysis of variance",
      .words =
          "F is the ratio of a term's mean square to the mean square of the residuals in the same "
          "stratum. A small p means that the term matters. Partial omega2 estimates a term's share "
          "of the variance that the term and the error cause together. The interval of partial "
          "omega2 excludes 0 if p is below alpha."};
  if (std::ranges::any_of(analysis.tables, has_epsilon))
    section.words +=
        " Epsilon (Greenhouse and Geisser) is 1 if a term's contrasts vary equally between units. "
        "To compute p, the degrees of freedom of F are multiplied by epsilon.";
  for (const stats::AnovaTable& table : analysis.tables)
    section.parts.push_back(anova_part(analysis, table));
  return section;
}

}  // namespace stab::report
