// SPDX-License-Identifier: MIT
// The parts that are tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/drawing/figure.h"
#include "report/html/parts.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/quantity.h"

namespace stab::report::html {
namespace {

using stats::Analysis;

std::string or_nothing(std::optional<double> value) {
  return value ? short_number(*value) : "";
}

std::string title_of(const Analysis& analysis, const stats::AnovaTable& model) {
  const std::string who = label_of(analysis, model.subject, model.scope);
  return (who.empty() ? "" : who + ": ") + model.formula;
}

Table table_of(const stats::AnovaTable& model) {
  Table table;
  const bool strata =
      std::ranges::any_of(model.rows, [](const auto& row) { return !row.stratum.empty(); });
  if (strata) table.columns.push_back({"stratum"});
  table.columns.push_back({"term"});
  for (const char* title : {"df", "sum of squares", "mean square", "F", "p", "partial omega2"})
    table.columns.push_back({title, true});
  for (const stats::AnovaRow& row : model.rows) {
    auto& cells = table.rows.emplace_back();
    if (strata) cells.push_back(row.stratum);
    cells.push_back(row.term + (row.aliases.empty() ? "" : " (or " + row.aliases + ")"));
    cells.push_back(fmt::format("{:.6g}", row.df));
    cells.push_back(short_number(row.ss));
    cells.push_back(or_nothing(row.ms));
    cells.push_back(or_nothing(row.f));
    cells.push_back(row.p ? p_text(*row.p) : "");
    cells.push_back(row.omega2 ? fmt::format("{:.3f}", *row.omega2) : "");
  }
  return table;
}

Markup section_of(Literal id, std::string_view title, std::string_view words) {
  Markup markup;
  markup.open("section", {{"id", std::string(id.text())}}).leaf("h2", title);
  return std::move(markup.leaf("p", words, {{"class", "words"}}));
}

Table counters_table(const std::vector<Counter>& counters, std::string_view what) {
  Table table{
      .columns = {
          {std::string(what)}, {"trials", true}, {"median", true}, {"absent", true}, {"remark"}}};
  for (const Counter& each : counters)
    table.rows.push_back({each.name, fmt::format("{}", each.counted + each.scaled),
                          median_text(each), fmt::format("{}", each.absent), counter_remark(each)});
  return table;
}

}  // namespace

Markup anova_part(const Analysis& analysis) {
  if (analysis.tables.empty()) return {};
  Markup markup =
      section_of("anova", "Analysis of variance",
                 "Each term is tested against the residuals of the same stratum. A small p-value "
                 "means that the term matters. Partial omega2 estimates a term's share of the "
                 "variance that the term and the error cause together.");
  std::size_t shown = 0;
  for (const stats::AnovaTable& each : analysis.tables) {
    if (++shown > most_lines) break;
    markup.leaf("h3", title_of(analysis, each));
    if (!each.rows.empty()) markup.add(table(table_of(each)));
  }
  if (analysis.tables.size() > most_lines)
    markup.leaf(
        "p",
        fmt::format("The page shows the first {} of {} models; the text report shows all models.",
                    most_lines, analysis.tables.size()));
  return std::move(markup.close());
}

Markup components_part(const Analysis& analysis) {
  if (analysis.components.empty()) return {};
  Markup markup = section_of(
      "components", "Sources of variance",
      fmt::format("The table shows how much of the variance the random factor {} explains. The "
                  "p-value tests the hypothesis that the seed makes no difference.",
                  analysis.spec.seed));
  Table numbers{.columns = {{"of"},
                            {"sd between seeds", true},
                            {"sd within a seed", true},
                            {"seeds' share of the variance", true},
                            {"p", true}}};
  const auto sd = [&](std::optional<double> variance) {
    if (!variance) return std::string("-");
    return analysis.spec.log_scale ? fmt::format("{:.3g} %", 100 * std::sqrt(*variance))
                                   : short_number(std::sqrt(*variance));
  };
  for (const stats::VarianceComponents& each : analysis.components) {
    const bool share = each.between && each.within && *each.between + *each.within > 0;
    numbers.rows.push_back(
        {each.subject, sd(each.between), sd(each.within),
         share ? fmt::format("{:.0f} %", 100 * *each.between / (*each.between + *each.within))
               : "-",
         each.p ? p_text(*each.p) : "-"});
  }
  return std::move(markup.add(table(numbers)).close());
}

Markup counters_part(const Document& document) {
  if (document.counters.empty() && document.measures.empty()) return {};
  Markup markup = section_of("counters", "Counters and measures",
                             "The table shows medians over all successful trials of all cells.");
  if (!document.counters.empty()) markup.add(table(counters_table(document.counters, "event")));
  if (!document.measures.empty()) markup.add(table(counters_table(document.measures, "measure")));
  return std::move(markup.close());
}

}  // namespace stab::report::html
