// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/sections/section.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"
#include "report/words/quantity.h"
#include "stats/verdicts/decide.h"

namespace stab::report {
namespace {

std::string shown_change(const stats::Analysis& analysis, const stats::Effect& effect) {
  const ChangeWords words = change_words(analysis, effect);
  return fmt::format("{} ({})", words.change, words.interval);
}

// A comparison with the plan's rules, and the same comparison without them.
Row both_row(const stats::Analysis& analysis, const stats::Effect& other, Cell change,
             Cell verdict) {
  return {
      subject_column(analysis, other.subject, other.scope),
      shown_only("from -> to", name(other.baseline) + " -> " + name(other.level)).left(),
      shown_only("by the rules", std::move(change.text)).in(change.style),
      shown_only("", verdict.text).left().in(verdict.style),
      shown_only("without them", shown_change(analysis, other)),
      shown_only("", std::string(verdict_text(other.verdict, analysis.spec)))
          .left()
          .in(verdict.text == verdict_text(other.verdict, analysis.spec) ? Style::plain
                                                                         : Style::warning),
  };
}

}  // namespace

Row rule_row(const Exclusions::Rule& rule) {
  return {column("when", rule.when, "rule", rule.when).left(),
          column("caught", rule.caught, "attempts caught", fmt::format("{}", rule.caught)),
          column("not_judged", rule.open, "not judged", fmt::format("{}", rule.open))
              .in(rule.open > 0 ? Style::warning : Style::plain)};
}

Row excluded_cell_row(const Exclusions::Cell& cell) {
  return {column("cell", cell.name, "cell", cell.name).named(longest_name),
          column("trials", cell.judged, "first attempts", fmt::format("{}", cell.judged)),
          column("disturbed", cell.disturbed, "disturbed", fmt::format("{}", cell.disturbed))};
}

std::string dependence_text(const Exclusions& exclusions) {
  std::string text =
      exclusions.disturbed == 0
          ? std::string("No trial was disturbed.")
          : fmt::format(
                "{} attempt{} disturbed. In {} trial{}, the last attempt was disturbed, too.",
                exclusions.disturbed, exclusions.disturbed == 1 ? " was" : "s were",
                exclusions.lost, exclusions.lost == 1 ? "" : "s");
  if (!exclusions.vanished.empty())
    text += fmt::format(
        " Warning: {} comparison{} no trials left and stay{} undecided: raise "
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

Section exclusions_section(const Document& document) {
  if (!document.exclusions) return {};
  const Exclusions& exclusions = *document.exclusions;
  Part rules;
  for (const Exclusions::Rule& rule : exclusions.rules) rules.rows.push_back(rule_row(rule));
  Section section{.title = "Exclusions",
                  .words =
                      "If a trial matches one of the plan's exclusion rules, it counts as "
                      "disturbed and runs again at the end of its block. If the repeated trial is "
                      "also disturbed, no comparison uses the trial.",
                  .parts = {std::move(rules)}};
  if (exclusions.disturbed == 0) return section;
  // The cells with the most disturbed attempts come first.
  std::vector<Exclusions::Cell> cells = exclusions.cells;
  std::ranges::sort(cells, [](const Exclusions::Cell& a, const Exclusions::Cell& b) {
    return std::pair(b.disturbed, a.name) < std::pair(a.disturbed, b.name);
  });
  Part& disturbed = section.parts.emplace_back();
  for (const Exclusions::Cell& each : cells) disturbed.rows.push_back(excluded_cell_row(each));
  return section;
}

Section without_rules_section(const Document& document) {
  if (!document.exclusions) return {};
  const stats::Analysis& analysis = document.analysis;
  const Exclusions& exclusions = *document.exclusions;
  Part part;
  for (const stats::Effect& other : exclusions.vanished)
    part.rows.push_back(both_row(analysis, other, {"no trials left", Style::warning},
                                 {"cannot tell", Style::warning}));
  for (const stats::Effect* effect : stats::deciding_effects(analysis)) {
    const auto other = std::ranges::find_if(exclusions.without, [&](const stats::Effect& each) {
      return stats::is_same_comparison(each, *effect);
    });
    if (other != exclusions.without.end())
      part.rows.push_back(both_row(analysis, *other, {shown_change(analysis, *effect)},
                                   {std::string(verdict_text(effect->verdict, analysis.spec))}));
  }
  if (part.rows.empty()) return {};
  return {.title = "Changes with and without the exclusion rules",
          .words =
              "Verdicts use the result with the plan's exclusion rules. The result without "
              "exclusion rules uses the first successful attempt at each trial.",
          .parts = {std::move(part)}};
}

}  // namespace stab::report
