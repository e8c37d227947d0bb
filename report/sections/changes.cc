// SPDX-License-Identifier: MIT
#include "report/words/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/sections/changes_legend.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/answer.h"
#include "report/words/grid.h"
#include "stats/verdicts/decide.h"

namespace stab::report {
namespace {

using stats::Analysis;
using stats::Effect;
using stats::Scope;
using stats::Verdict;
using Effects = std::vector<const Effect*>;

// Of single subjects, in a short report.
constexpr std::size_t most_rows = 24;

Style verdict_style(Verdict verdict) {
  switch (verdict) {
    case Verdict::faster:
      return Style::good;
    case Verdict::slower:
      return Style::bad;
    case Verdict::unsure:
      return Style::warning;
    case Verdict::same:
      return Style::plain;
  }
  return Style::plain;
}

Effects of_scope(const Analysis& analysis, Scope scope) {
  Effects result;
  for (const Effect& effect : analysis.effects)
    if (effect.scope == scope) result.push_back(&effect);
  return result;
}

// The scope that answers the question, the suite's other one, single subjects.
std::array<Scope, 3> order(const Analysis& analysis) {
  if (stats::deciding_scope(analysis) == Scope::these)
    return {Scope::these, Scope::like_these, Scope::subject};
  return {Scope::like_these, Scope::these, Scope::subject};
}

// Those that have a verdict, if there are many.
void shorten(Effects& effects) {
  if (effects.size() <= most_rows) return;
  std::erase_if(effects, [](const Effect* effect) { return effect->verdict == Verdict::unsure; });
  if (effects.size() > most_rows) effects.resize(most_rows);
}

Grid grid_for(const Analysis& analysis, const TextOptions& options) {
  Grid grid;
  if (has_subjects(analysis)) grid.column(name(analysis.spec.subject), Align::left);
  grid.column("comparison", Align::left);
  grid.column("change", Align::right);
  grid.column(level_text(analysis.spec.alpha) + " interval", Align::right);
  const bool family = has_family(analysis);
  if (options.full || !family) grid.column("p", Align::right);
  if (family) grid.column("adjusted interval", Align::right);
  if (family) grid.column("adjusted p", Align::right);
  grid.column("verdict", Align::left);
  return grid;
}

void add_effect(Grid& grid, const Analysis& analysis, const Effect& effect, Cell label,
                const TextOptions& options) {
  const ChangeWords words = change_words(analysis, effect);
  const auto p = [](std::optional<double> value) { return value ? p_text(*value) : "-"; };
  const bool family = has_family(analysis);
  std::vector<Cell> row;
  if (has_subjects(analysis)) row.push_back(std::move(label));
  row.push_back({fmt::format("{}: {} -> {}", name(effect.treatment), name(effect.baseline),
                             name(effect.level))});
  row.push_back({words.change, Style::bold});
  row.push_back({words.interval});
  if (options.full || !family) row.push_back({p(effect.p)});
  if (family) row.push_back({words.adjusted});
  if (family) row.push_back({p(effect.p_adjusted)});
  row.push_back(
      {std::string(verdict_word(effect.verdict, analysis.spec)), verdict_style(effect.verdict)});
  grid.row(std::move(row));
}

std::string explanation(const stats::Spec& spec) {
  return fmt::format("Change of {} from {} to another; negative is {}, {}.",
                     one_line(response_words(spec), 60),
                     spec.all_pairs ? "one level of a treatment" : "a treatment's first level",
                     less_word(spec), better_words(spec));
}

}  // namespace

std::string effects_section(const Analysis& analysis, const TextOptions& options,
                            std::string_view title) {
  if (analysis.effects.empty()) return "";
  Grid grid = grid_for(analysis, options);
  std::size_t hidden = 0;
  bool first = true;
  for (const Scope scope : order(analysis)) {
    Effects effects = of_scope(analysis, scope);
    hidden += effects.size();
    if (scope == Scope::subject && !options.full) shorten(effects);
    hidden -= effects.size();
    if (effects.empty()) continue;
    if (!first) grid.gap();
    first = false;
    std::string last;
    for (const Effect* effect : effects) {
      Cell label = row_label(analysis, effect->subject, scope);
      if (label.text == last)
        label.text.clear();
      else
        last = label.text;
      add_effect(grid, analysis, *effect, std::move(label), options);
    }
  }
  std::string text = heading(title, explanation(analysis.spec), options);
  text += grid.render(options.colour) + "\n";
  if (hidden > 0)
    text += fmt::format("  and {} more comparisons of a single {}: see --full\n\n", hidden,
                        name(analysis.spec.subject));
  return text + paragraph("  ", changes_legend(analysis), page_width) + "\n";
}

}  // namespace stab::report
