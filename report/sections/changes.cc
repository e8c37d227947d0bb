// SPDX-License-Identifier: MIT
#include "report/words/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "base/text.h"
#include "report/sections/changes_legend.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/answer.h"
#include "report/words/grid.h"
#include "report/words/interval_axis.h"
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
constexpr std::size_t widest_picture = 31;

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

// What the verdict looks at; nothing where there is no interval in percent.
std::optional<ChangeInterval> drawn(const Analysis& analysis, const Effect& effect) {
  if (!change_words(analysis, effect).ratio) return std::nullopt;
  const auto& low = has_family(analysis) ? effect.low_adjusted : effect.low;
  const auto& high = has_family(analysis) ? effect.high_adjusted : effect.high;
  if (!effect.ratio || !low || !high || std::isnan(*effect.ratio + *low + *high))
    return std::nullopt;
  return ChangeInterval{.low = *low - 1, .value = *effect.ratio - 1, .high = *high - 1};
}

// A column that shows the intervals, where the page has room for one.
void add_pictures(Grid& grid, const Analysis& analysis, const Effects& rows, std::size_t width) {
  const std::size_t used = grid.width() + 2;
  std::vector<ChangeInterval> all;
  for (const Effect* effect : rows)
    if (const auto interval = effect ? drawn(analysis, *effect) : std::nullopt)
      all.push_back(*interval);
  if (all.empty() || used + IntervalAxis::least_width > width) return;
  const IntervalAxis axis(all, std::min(width - used, widest_picture));
  grid.column(axis.header(), Align::left);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const auto interval = rows[i] ? drawn(analysis, *rows[i]) : std::nullopt)
      grid.append(i, {axis.draw(*interval)});
}

std::string explanation(const stats::Spec& spec) {
  return fmt::format("Change in {} from {} to another level; negative means {}, and {}.",
                     one_line(response_words(spec), 60),
                     spec.all_pairs ? "one level of a treatment" : "a treatment's first level",
                     less_word(spec), better_words(spec));
}

}  // namespace

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

Row effect_row(const Analysis& analysis, const Effect& effect, bool full) {
  const ChangeWords words = change_words(analysis, effect);
  const auto p = [](std::optional<double> value) { return value ? p_text(*value) : "-"; };
  const bool family = has_family(analysis);
  return {
      subject_column(analysis, effect.subject, effect.scope).once(),
      shown_only("comparison",
                 fmt::format("{}: {} -> {}{}", name(effect.treatment), name(effect.baseline),
                             name(effect.level),
                             stats::is_control(effect, analysis.spec) ? " (control)" : ""))
          .left(),
      shown_only("change", words.change).in(Style::bold),
      shown_only(level_text(analysis.spec.alpha) + " interval", words.interval)
          .on_page(family && !full),
      shown_only("p", p(effect.p)).on_page(family && !full),
      shown_only("adjusted interval", words.adjusted).on_page(!family),
      shown_only("adjusted p", p(effect.p_adjusted)).on_page(!family),
      shown_only("verdict", std::string(verdict_word(effect.verdict, analysis.spec)))
          .left()
          .in(verdict_style(effect.verdict))
          .and_on_page(effect.reason.empty() ? "" : ": " + effect.reason),
  };
}

std::string effects_section(const Analysis& analysis, const TextOptions& options,
                            std::string_view title) {
  if (analysis.effects.empty()) return "";
  Part part;
  Effects rows;  // null: an empty line
  std::size_t hidden = 0;
  for (const Scope scope : order(analysis)) {
    Effects effects = of_scope(analysis, scope);
    hidden += effects.size();
    if (scope == Scope::subject && !options.full) shorten(effects);
    hidden -= effects.size();
    if (effects.empty()) continue;
    if (!rows.empty()) {
      part.rows.emplace_back();
      rows.push_back(nullptr);
    }
    for (const Effect* effect : effects) {
      part.rows.push_back(effect_row(analysis, *effect, options.full));
      rows.push_back(effect);
    }
  }
  Grid grid = grid_of(part);
  add_pictures(grid, analysis, rows, options.width);
  std::string text = heading(title, explanation(analysis.spec), options);
  text += grid.render(options.colour) + "\n";
  if (hidden > 0)
    text += fmt::format("  and {} more comparisons of a single {}: see --full\n\n", hidden,
                        name(analysis.spec.subject));
  return text + paragraph("  ", changes_legend(analysis, options.full), options.width) + "\n";
}

}  // namespace stab::report
