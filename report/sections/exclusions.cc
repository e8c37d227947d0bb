// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/answer.h"
#include "report/words/changes.h"
#include "report/words/grid.h"
#include "stats/verdicts/decide.h"

namespace stab::report {
namespace {

std::string rules_table(const Exclusions& exclusions, const TextOptions& options) {
  Grid grid;
  grid.column("rule", Align::left);
  grid.column("attempts caught", Align::right);
  grid.column("not judged", Align::right);
  for (const Exclusions::Rule& rule : exclusions.rules)
    grid.row({{rule.when},
              {fmt::format("{}", rule.caught)},
              {fmt::format("{}", rule.open), rule.open > 0 ? Style::warning : Style::plain}});
  return table_section(
      "Exclusions",
      "If a trial matches one of the plan's rules, it counts as disturbed and runs again at the "
      "end of its block. If the repeated trial is also disturbed, no comparison uses the trial.",
      grid, options);
}

// Those with the most first.
std::string cells_table(const Exclusions& exclusions, const TextOptions& options) {
  if (exclusions.disturbed == 0) return "";
  std::vector<Exclusions::Cell> cells = exclusions.cells;
  std::ranges::sort(cells, [](const Exclusions::Cell& a, const Exclusions::Cell& b) {
    return std::pair(b.disturbed, a.name) < std::pair(a.disturbed, b.name);
  });
  Grid grid;
  grid.column("cell", Align::left);
  grid.column("first attempts", Align::right);
  grid.column("disturbed", Align::right);
  for (const Exclusions::Cell& each : cells)
    grid.row(
        {{name(each.name)}, {fmt::format("{}", each.judged)}, {fmt::format("{}", each.disturbed)}});
  return grid.render(options.colour) + "\n";
}

std::string shown_change(const stats::Analysis& analysis, const stats::Effect& effect) {
  const ChangeWords words = change_words(analysis, effect);
  return fmt::format("{} ({})", words.change, words.interval);
}

std::string without_table(const Document& document, const TextOptions& options) {
  const stats::Analysis& analysis = document.analysis;
  Grid grid;
  if (has_subjects(analysis)) grid.column(name(analysis.spec.subject), Align::left);
  grid.column("from -> to", Align::left);
  grid.column("by the rules", Align::right);
  grid.column("", Align::left);
  grid.column("without them", Align::right);
  grid.column("", Align::left);
  const auto add = [&](const stats::Effect& effect, Cell change, Cell verdict,
                       const stats::Effect& other) {
    std::vector<Cell> cells;
    if (has_subjects(analysis)) cells.push_back(row_label(analysis, effect.subject, effect.scope));
    cells.push_back({name(effect.baseline) + " -> " + name(effect.level)});
    cells.push_back(std::move(change));
    cells.push_back(std::move(verdict));
    cells.push_back({shown_change(analysis, other)});
    cells.push_back({std::string(verdict_word(other.verdict, analysis.spec)),
                     other.verdict == effect.verdict ? Style::plain : Style::warning});
    grid.row(std::move(cells));
  };
  std::size_t rows = document.exclusions->vanished.size();
  for (const stats::Effect& other : document.exclusions->vanished)
    add({.subject = other.subject,
         .scope = other.scope,
         .baseline = other.baseline,
         .level = other.level},
        {"no trials left", Style::warning}, {"unsure", Style::warning}, other);
  for (const stats::Effect* effect : stats::deciding_effects(analysis)) {
    const auto other = std::ranges::find_if(
        document.exclusions->without,
        [&](const stats::Effect& each) { return stats::is_same_comparison(each, *effect); });
    if (other == document.exclusions->without.end()) continue;
    ++rows;
    add(*effect, {shown_change(analysis, *effect)},
        {std::string(verdict_word(effect->verdict, analysis.spec))}, *other);
  }
  if (rows == 0) return "";
  return table_section("With the rules and without them",
                       "Verdicts use the result with the plan's exclusion rules. The result "
                       "without exclusion rules uses the first successful attempt at each trial.",
                       grid, options);
}

}  // namespace

std::string dependence_text(const Exclusions& exclusions) {
  std::string text =
      exclusions.disturbed == 0
          ? std::string("No trial was disturbed.")
          : fmt::format("{} attempt{} disturbed; {} trial{} stayed disturbed.",
                        exclusions.disturbed, exclusions.disturbed == 1 ? " was" : "s were",
                        exclusions.lost, exclusions.lost == 1 ? "" : "s");
  if (!exclusions.vanished.empty())
    text += fmt::format(
        " Warning: {} comparison{} no trials left and stay{} unsure: raise "
        "'defaults.exclude_repeats', or find out what disturbs the trials.",
        exclusions.vanished.size(), exclusions.vanished.size() == 1 ? " has" : "s have",
        exclusions.vanished.size() == 1 ? "s" : "");
  if (exclusions.depends())
    text += fmt::format(
        " Warning: some cells are disturbed more often than others (p = {}). The exclusion rules "
        "may therefore hide the very effect that you want to measure: find out why one cell is "
        "disturbed more often, and look at the result without the rules.",
        p_text(*exclusions.p));
  else if (exclusions.p)
    text += fmt::format(
        " There is no sign that some cells are disturbed more often than others (p = {}).",
        p_text(*exclusions.p));
  return text;
}

std::string exclusions_section(const Document& document, const TextOptions& options) {
  if (!document.exclusions) return "";
  return rules_table(*document.exclusions, options) + cells_table(*document.exclusions, options) +
         without_table(document, options);
}

}  // namespace stab::report
