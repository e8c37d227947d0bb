// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "report/html/canvas.h"
#include "report/html/parts.h"
#include "report/html/plots.h"
#include "report/sections/sections.h"
#include "report/sections/shared_words.h"
#include "report/words/answer.h"
#include "report/words/quantity.h"
#include "stats/verdicts/decide.h"

namespace stab::report::html {
namespace {

using stats::Analysis;
using stats::Effect;

// A change as it is drawn: in percent, or in the unit of the scale.
struct Change {
  const Effect* effect = nullptr;
  std::string name{};
  double value = 0;
  std::optional<double> low{};
  std::optional<double> high{};
  std::optional<double> low_adjusted{};
  std::optional<double> high_adjusted{};
};

std::string name_of(const Analysis& analysis, const Effect& effect) {
  const std::string who = label_of(analysis, effect.subject, effect.scope);
  return fmt::format("{}{}{} against {}{}", who, who.empty() ? "" : ": ",
                     level_name(effect, effect.level), level_name(effect, effect.baseline),
                     stats::is_control(effect, analysis.spec) ? " (control)" : "");
}

std::vector<Change> percent_rows(const Analysis& analysis) {
  const auto percent = [](std::optional<double> ratio) -> std::optional<double> {
    if (!ratio || !std::isfinite(*ratio)) return std::nullopt;
    return 100 * (*ratio - 1);
  };
  std::vector<Change> rows;
  for (const Effect& effect : analysis.effects)
    if (change_words(analysis, effect).ratio && percent(effect.ratio))
      rows.push_back({.effect = &effect,
                      .name = name_of(analysis, effect),
                      .value = *percent(effect.ratio),
                      .low = percent(effect.low),
                      .high = percent(effect.high),
                      .low_adjusted = percent(effect.low_adjusted),
                      .high_adjusted = percent(effect.high_adjusted)});
  return rows;
}

std::vector<Change> difference_rows(const Analysis& analysis, const Scale& scale) {
  const auto scaled = [&](std::optional<double> value) -> std::optional<double> {
    if (!value || !std::isfinite(*value)) return std::nullopt;
    return *value / scale.factor;
  };
  std::vector<Change> rows;
  for (const Effect& effect : analysis.effects)
    if (!change_words(analysis, effect).ratio && scaled(effect.difference))
      rows.push_back({.effect = &effect,
                      .name = name_of(analysis, effect),
                      .value = *scaled(effect.difference),
                      .low = scaled(effect.difference_low),
                      .high = scaled(effect.difference_high),
                      .low_adjusted = scaled(effect.low_adjusted),
                      .high_adjusted = scaled(effect.high_adjusted)});
  return rows;
}

Table numbers_of(const Analysis& analysis, const std::vector<Change>& rows) {
  Part part;
  for (const Change& row : rows) {
    part.rows.push_back(effect_row(analysis, *row.effect, true));
    drop_json_only(part.rows.back());
  }
  return page_table(part);
}

std::string unit_of(const Scale& scale) {
  if (scale.exponent.empty()) return scale.unit.empty() ? "as it is" : scale.unit;
  return "x 1" + scale.exponent + (scale.unit.empty() ? "" : " " + scale.unit);
}

constexpr double change_height = 23;  // without its label

std::string_view words_at_end(const Analysis& analysis, const Change& row) {
  return verdict_text(row.effect->verdict, analysis.spec);
}

void draw_row(Canvas& canvas, const Analysis& analysis, const Axis& axis, const Change& row,
              double y, double middle) {
  const std::string colour = colour_of(analysis, *row.effect);
  const ChangeWords words = change_words(analysis, *row.effect);
  canvas.label(y, row.name, words_at_end(analysis, row));
  if (row.low_adjusted && row.high_adjusted)
    canvas.line(axis.place(*row.low_adjusted), middle, axis.place(*row.high_adjusted), middle,
                colour + " thin");
  if (row.low && row.high)
    canvas.rectangle(axis.place(*row.low), middle - 3, axis.place(*row.high) - axis.place(*row.low),
                     6, colour + " faint");
  canvas.dot(axis.place(row.value), middle, 4, colour,
             fmt::format("{}: {} ({})", row.name, words.change, words.interval));
}

// Explains the parts of the picture. An effect without an interval is exact, or its interval could
// not be computed.
std::string legend_of(const Analysis& analysis, const std::vector<Change>& rows, bool margin) {
  const auto has_bar = [](const Change& row) { return row.low && row.high; };
  std::string text;
  if (std::ranges::any_of(rows, has_bar)) {
    text = fmt::format(
        "Bars are {} intervals, and thin lines are intervals adjusted for all comparisons",
        level_text(analysis.spec.alpha));
    if (!std::ranges::all_of(rows, has_bar)) text += "; dots without a bar have no interval";
  } else {
    text = std::ranges::all_of(rows, [](const Change& row) { return row.effect->exact; })
               ? "Dots are changes that are known exactly, so they have no intervals"
               : "Dots are changes without intervals";
  }
  text += margin ? ". The shaded band is the margin within which versions count as the same." : ".";
  return text + " " + std::string(colour_words);
}

Figure picture_of(const Analysis& analysis, std::vector<Change> rows, const std::string& unit) {
  // If there is no room for all changes, changes of the suite have priority over single subjects.
  std::ranges::sort(rows, {}, [](const Change& row) {
    return std::pair(row.effect->scope == stats::Scope::subject, row.effect);
  });
  const std::size_t shown = std::min(rows.size(), most_lines);
  std::ranges::sort(std::span(rows).first(shown), {},
                    [](const Change& row) { return std::pair(row.value, row.effect); });
  Range range;
  range.include(0);
  for (std::size_t i = 0; i < shown; ++i)
    for (const auto& each : {std::optional(rows[i].value), rows[i].low, rows[i].high,
                             rows[i].low_adjusted, rows[i].high_adjusted})
      if (each) range.include(*each);
  const bool margin = unit == "%" && analysis.spec.equivalence;
  const double equal = 100 * analysis.spec.equivalence.value_or(0);
  if (margin) {
    range.include(equal);
    range.include(-equal);
  }
  const Axis axis(range.padded(), 14, width - 14);
  double bottom = rows_top;
  for (std::size_t i = 0; i < shown; ++i)
    bottom += change_height + label_height(rows[i].name, words_at_end(analysis, rows[i]));
  Figure figure{.title = unit == "%" ? "Changes in percent" : "Changes as differences"};
  Canvas canvas(bottom + 38, figure.title + ", sorted");
  if (margin)
    canvas.rectangle(axis.place(-equal / (1 + equal / 100)), rows_top,
                     axis.place(equal) - axis.place(-equal / (1 + equal / 100)), bottom - rows_top,
                     "shade");
  canvas.horizontal(axis, rows_top, bottom,
                    fmt::format("change of {}, {} ({})", response_words(analysis.spec), unit,
                                better_words(analysis.spec)));
  double y = rows_top;
  for (std::size_t i = 0; i < shown; ++i) {
    const double below = y + label_height(rows[i].name, words_at_end(analysis, rows[i]));
    draw_row(canvas, analysis, axis, rows[i], y, below + 11);
    y = below + change_height;
  }
  figure.picture = canvas.finish();
  figure.words = legend_of(analysis, rows, margin);
  const bool controlled = std::ranges::any_of(
      rows, [&](const Change& row) { return stats::is_control(*row.effect, analysis.spec); });
  if (controlled)
    figure.words +=
        " The control is a second measurement of the first level, and never gets a verdict itself. "
        "A change smaller than the control's confidence interval cannot be told from noise.";
  if (shown < rows.size())
    figure.words += fmt::format(
        " The picture shows only the first {} of {} changes; the table has the other changes.",
        shown, rows.size());
  figure.numbers = numbers_of(analysis, rows);
  return figure;
}

}  // namespace

std::vector<Figure> forest(const Analysis& analysis) {
  std::vector<Figure> figures;
  if (auto rows = percent_rows(analysis); !rows.empty())
    figures.push_back(picture_of(analysis, std::move(rows), "%"));
  const Scale scale = difference_scale(analysis, "", std::nullopt, std::nullopt);
  if (auto rows = difference_rows(analysis, scale); !rows.empty())
    figures.push_back(picture_of(analysis, std::move(rows), unit_of(scale)));
  return figures;
}

}  // namespace stab::report::html
