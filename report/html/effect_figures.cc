// SPDX-License-Identifier: MIT
// Pictures of effects: changes with their intervals, bars from zero, and the levels of treatments,
// alone and in pairs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "report/html/canvas.h"
#include "report/html/parts.h"
#include "report/sections/section.h"
#include "report/sections/sections.h"
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
  return fmt::format("{}{}{} against {}", who, who.empty() ? "" : ": ",
                     level_name(effect, effect.level), level_name(effect, effect.baseline));
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
  return stats::is_control(*row.effect, analysis.spec)
             ? control_verdict
             : verdict_text(row.effect->verdict, analysis.spec);
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

// Bars from zero: the cells relative to the reference, each padding's change, and noise floors.

namespace {

using stats::CellMean;

constexpr double row_height = 17;  // below its label
constexpr double top = 6;

struct Bar {
  std::string name{};
  std::string colour = no_verdict;
  double percent = 0;
  std::optional<stats::Interval> interval{};
};

std::string words_at_end(const Bar& bar) {
  return fmt::format("{:+.2f} %", bar.percent);
}

Markup draw(const std::vector<Bar>& bars, const std::string& label, const std::string& title) {
  const std::size_t shown = std::min(bars.size(), most_lines);
  Range range;
  range.include(0);
  for (std::size_t i = 0; i < shown; ++i) {
    range.include(bars[i].percent);
    if (bars[i].interval) range.include(bars[i].interval->low);
    if (bars[i].interval) range.include(bars[i].interval->high);
  }
  const Axis axis(range.padded(), 14, width - 14);
  double bottom = top;
  for (std::size_t i = 0; i < shown; ++i)
    bottom += row_height + label_height(bars[i].name, words_at_end(bars[i]));
  Canvas canvas(bottom + 38, label);
  canvas.horizontal(axis, top, bottom, title);
  double y = top;
  for (std::size_t i = 0; i < shown; ++i) {
    const Bar& bar = bars[i];
    const double below = y + label_height(bar.name, words_at_end(bar));
    const double zero = axis.place(0);
    const double end = axis.place(bar.percent);
    canvas.label(y, bar.name, words_at_end(bar));
    canvas.rectangle(std::min(zero, end), below + 3, std::max(zero, end) - std::min(zero, end), 10,
                     bar.colour, fmt::format("{}: {}", bar.name, words_at_end(bar)));
    if (bar.interval)
      canvas.line(axis.place(bar.interval->low), below + 8, axis.place(bar.interval->high),
                  below + 8, "mean");
    y = below + row_height;
  }
  return canvas.finish();
}

std::string levels_text(const Analysis& analysis, const CellMean& mean) {
  std::string text;
  for (std::size_t i = 0; i < mean.levels.size() && i < analysis.spec.treatments.size(); ++i)
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", analysis.spec.treatments[i], mean.levels[i]);
  return text;
}

// The effect that compares the cell with the reference; null unless there is exactly one treatment.
const stats::Effect* effect_or_null(const Analysis& analysis, const CellMean& mean,
                                    const CellMean& reference) {
  if (analysis.spec.treatments.size() != 1) return nullptr;
  for (const stats::Effect& effect : analysis.effects)
    if (effect.scope == stats::Scope::subject && effect.subject == mean.subject &&
        effect.level == mean.levels[0] && effect.baseline == reference.levels[0])
      return &effect;
  return nullptr;
}

std::optional<stats::Interval> interval_of(const stats::Effect* effect) {
  if (effect == nullptr || !effect->low || !effect->high) return std::nullopt;
  return stats::Interval{.low = 100 * (*effect->low - 1), .high = 100 * (*effect->high - 1)};
}

using References = std::map<std::string, const CellMean*>;

// The reference cell of each subject: all treatments have their first planned level, and the mean
// is surely above 0. If the mean were near 0, any difference would be many percent.
References references_of(const Analysis& analysis, const PlannedLevels& levels) {
  References found;
  for (const CellMean& mean : analysis.means) {
    const bool first =
        std::ranges::equal(mean.levels, levels, [](const std::string& level, const auto& planned) {
          return !planned.empty() && level == planned.front();
        });
    const bool sure = analysis.spec.log_scale ? mean.mean > 0 : mean.low && *mean.low > 0;
    if (first && sure) found.try_emplace(mean.subject, &mean);
  }
  return found;
}

// With only two cells for each subject, the picture of changes shows the same.
bool says_more(const Analysis& analysis, const std::map<std::string, std::size_t>& cells) {
  if (analysis.spec.treatments.empty() || analysis.calibration) return false;
  return std::ranges::any_of(cells, [](const auto& each) { return each.second > 2; });
}

}  // namespace

std::vector<Figure> overheads(const Analysis& analysis, const PlannedLevels& levels) {
  if (levels.size() != analysis.spec.treatments.size()) return {};
  const References references = references_of(analysis, levels);
  if (references.empty()) return {};
  std::map<std::string, std::size_t> cells;
  std::vector<Bar> bars;
  Table numbers{.columns = {{"cell"}, {"mean", true}, {"relative to the reference", true}}};
  const Scale scale = scale_for(analysis.means, analysis.spec.unit);
  for (const CellMean& mean : analysis.means) {
    const auto reference = references.find(mean.subject);
    const bool known = reference != references.end();
    const bool compared = known && reference->second != &mean;
    ++cells[mean.subject];
    const std::string name = fmt::format("{}{}{}", mean.subject, mean.subject.empty() ? "" : " ",
                                         levels_text(analysis, mean));
    const double percent = compared ? 100 * (mean.mean / reference->second->mean - 1) : 0;
    numbers.rows.push_back({name, quantity(mean.mean, scale),
                            compared ? fmt::format("{:+.2f} %", percent)
                            : known  ? "reference"
                                     : "-"});
    if (!compared) continue;
    const stats::Effect* effect = effect_or_null(analysis, mean, *reference->second);
    bars.push_back({.name = name,
                    .colour = effect == nullptr ? no_verdict : colour_of(analysis, *effect),
                    .percent = percent,
                    .interval = interval_of(effect)});
  }
  if (bars.empty() || !says_more(analysis, cells)) return {};
  Figure figure{.title = "Each cell over its reference"};
  figure.words = fmt::format(
      "Each cell is compared with the reference cell, in which every treatment has its first level "
      "({}).{}{}{} {}",
      levels_text(analysis, *references.begin()->second),
      references.size() < cells.size()
          ? " If the reference cell has no trials, or if its mean may be 0, no cells are compared."
          : "",
      analysis.spec.treatments.size() == 1
          ? ""
          : " The section on changes above has confidence intervals.",
      bars.size() > most_lines ? fmt::format(" The picture shows only the first {} of {} cells.",
                                             most_lines, bars.size())
                               : "",
      colour_words);
  figure.picture =
      draw(bars, figure.title, response_words(analysis.spec) + " relative to the reference, %");
  figure.numbers = std::move(numbers);
  return {std::move(figure)};
}

std::vector<Figure> seeds(const Analysis& analysis) {
  std::vector<Figure> figures;
  for (const stats::PaddingSeeds& each : analysis.padding) {
    if (figures.size() == most_pictures) break;
    Figure figure{.title = fmt::format("{}{}{}={} against {}", each.subject,
                                       each.subject.empty() ? "" : ": ", each.treatment, each.level,
                                       each.baseline)};
    std::vector<Bar> bars;
    for (std::size_t i = 0; i < each.seeds.size() && i < each.percent.size(); ++i)
      bars.push_back({.name = "padding " + each.seeds[i], .percent = each.percent[i]});
    if (bars.empty()) continue;
    figure.numbers = page_table({.rows = seed_rows(each)});
    if (bars.size() > most_lines)
      figure.words = fmt::format("The picture shows only the first {} of {} paddings.", most_lines,
                                 bars.size());
    figure.picture = draw(bars, figure.title, "change of " + response_words(analysis.spec) + ", %");
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<Figure> floors(const Analysis& analysis) {
  if (!analysis.calibration) return {};
  std::vector<Bar> bars;
  Part numbers;
  const auto add = [&](const stats::Floor& floor, const std::string& name,
                       const std::string& colour) {
    if (!floor.margin) return;
    Bar bar{.name = name, .colour = colour, .percent = 100 * *floor.margin};
    if (floor.interval)
      bar.interval = {.low = 100 * floor.interval->low, .high = 100 * floor.interval->high};
    numbers.rows.push_back(floor_row(analysis.spec, name, floor));
    bars.push_back(std::move(bar));
  };
  // If there is no room for all noise floors, the first ones are drawn.
  add(analysis.calibration->any, "any one program", colour_class(2));
  add(analysis.calibration->suite, "all of them together", colour_class(3));
  for (const stats::Floor& each : analysis.calibration->benchmarks)
    add(each, each.subject, no_verdict);
  if (bars.empty()) return {};
  Figure figure{.title = "Noise floors"};
  figure.words = fmt::format(
      "If a program is compared with itself in {} blocks, the change stays within the noise floor "
      "in {} of the comparisons. Changes below the noise floor cannot be told from noise. Lines "
      "are confidence intervals of the noise floor.{}",
      analysis.calibration->blocks, level_text(analysis.spec.alpha),
      bars.size() > most_lines
          ? fmt::format(" The picture shows only the first {} of {} noise floors.", most_lines,
                        bars.size())
          : "");
  figure.picture =
      draw(bars, figure.title, "noise floor of " + response_words(analysis.spec) + ", %");
  figure.numbers = page_table(numbers);
  return {std::move(figure)};
}

// Main effects and interactions: means of cells relative to the mean of all cells.

namespace {

constexpr std::size_t most_levels = 12;  // columns of a picture

// A cell relative to the mean over all cells of its subject. It does not depend on the subject's
// size, so that subjects can be averaged: the logarithm of a ratio on the log scale, else a share
// of the mean.
struct Relative {
  const CellMean* cell = nullptr;
  double value = 0;
};

std::size_t combinations(const PlannedLevels& levels) {
  std::size_t product = 1;
  for (const auto& each : levels) product *= each.size();
  return product;
}

bool is_planned(const CellMean& mean, const PlannedLevels& levels) {
  return std::ranges::equal(mean.levels, levels, [](const auto& level, const auto& planned) {
    return std::ranges::find(planned, level) != planned.end();
  });
}

// Uses only subjects that have all combinations of levels, with means above 0. Otherwise two levels
// would be compared over different subjects and cells.
std::vector<Relative> relative_means(const Analysis& analysis, const PlannedLevels& levels) {
  std::map<std::string, std::vector<const CellMean*>> subjects;
  for (const CellMean& mean : analysis.means) subjects[mean.subject].push_back(&mean);
  std::vector<Relative> result;
  for (const auto& [subject, means] : subjects) {
    const bool usable = std::ranges::all_of(
        means, [&](const CellMean* each) { return each->mean > 0 && is_planned(*each, levels); });
    if (means.size() != combinations(levels) || !usable) continue;
    double sum = 0;
    for (const CellMean* each : means)
      sum += analysis.spec.log_scale ? std::log(each->mean) : each->mean;
    const double centre = sum / static_cast<double>(means.size());
    for (const CellMean* each : means)
      result.push_back({.cell = each,
                        .value = analysis.spec.log_scale ? std::log(each->mean) - centre
                                                         : each->mean / centre - 1});
  }
  return result;
}

// The average in percent over the cells that the condition picks. It averages the relative values
// and converts them afterwards, because percentages of ratios do not add up.
template <class Condition>
std::optional<double> average(const Analysis& analysis, const std::vector<Relative>& means,
                              Condition picks) {
  double sum = 0;
  std::size_t n = 0;
  for (const Relative& each : means) {
    if (!picks(*each.cell)) continue;
    sum += each.value;
    ++n;
  }
  if (n == 0) return std::nullopt;
  const double mean = sum / static_cast<double>(n);
  return 100 * (analysis.spec.log_scale ? std::expm1(mean) : mean);
}

// A line chart with one value for each column. An absent value breaks its line.
struct Chart {
  std::string title{};
  std::string words{};
  std::vector<std::string> columns{};
  std::vector<std::string> lines{};                          // a line named "" is not in the legend
  std::vector<std::vector<std::optional<double>>> values{};  // by line, then by column
};

// Writes a column's name, such as "code=true", in two lines that break after the '='.
void draw_column(Canvas& canvas, double x, const std::string& column, std::size_t letters) {
  const std::size_t equal = std::min(column.find('='), column.size() - 1);
  canvas.name(x, plot_bottom + 16, column.substr(0, equal + 1), letters, "middle tick");
  canvas.name(x, plot_bottom + 31, column.substr(equal + 1), letters, "middle tick");
}

// On the log scale, equal ratios have equal distances, so effects that only multiply make parallel
// lines. On the linear scale, effects that only add make parallel lines.
Axis axis_of(const Analysis& analysis, const Chart& chart) {
  const bool ratios = analysis.spec.log_scale;
  Range range;
  range.include(0);
  for (const auto& line : chart.values)
    for (const auto& value : line)
      if (value) range.include(ratios ? std::log1p(*value / 100) : *value);
  range = range.padded();
  if (ratios) {
    range.low = 100 * std::expm1(range.low);
    range.high = 100 * std::expm1(range.high);
  }
  return {range, plot_bottom, plot_top, ratios ? Spacing::ratios : Spacing::even};
}

Markup draw(const Analysis& analysis, const Chart& chart, bool joined) {
  const Axis up = axis_of(analysis, chart);
  const double step = (width - 10 - plot_left) / static_cast<double>(chart.columns.size());
  const auto place = [&](std::size_t column) {
    return plot_left + step * (static_cast<double>(column) + 0.5);
  };
  Canvas canvas(plot_bottom + 40, chart.title);
  canvas.vertical(
      up, plot_left, width - 10,
      fmt::format("{} relative to the mean of all cells, %", response_words(analysis.spec)));
  const auto letters = static_cast<std::size_t>(std::max(step / 7, 3.0));
  for (std::size_t i = 0; i < chart.columns.size(); ++i)
    draw_column(canvas, place(i), chart.columns[i], letters);
  for (std::size_t line = 0; line < chart.values.size(); ++line) {
    const std::string colour = colour_class(line);
    for (std::size_t i = 0; i < chart.columns.size(); ++i) {
      const auto& value = chart.values[line][i];
      if (!value) continue;
      const auto& next = i + 1 < chart.columns.size() ? chart.values[line][i + 1] : std::nullopt;
      if (joined && next)
        canvas.line(place(i), up.place(*value), place(i + 1), up.place(*next), colour + " thin");
      canvas.dot(place(i), up.place(*value), 4, colour,
                 fmt::format("{} {}: {:+.2f} %", chart.columns[i], chart.lines[line], *value));
    }
  }
  return canvas.finish();
}

Figure figure_of(const Analysis& analysis, const Chart& chart, bool joined) {
  Figure figure{
      .title = chart.title, .words = chart.words, .picture = draw(analysis, chart, joined)};
  figure.numbers.columns.push_back({"level"});
  for (const std::string& line : chart.lines)
    figure.numbers.columns.push_back({line.empty() ? "relative to the mean" : line, true});
  for (std::size_t i = 0; i < chart.columns.size(); ++i) {
    std::vector<std::string> row{chart.columns[i]};
    for (const auto& line : chart.values)
      row.push_back(line[i] ? fmt::format("{:+.2f} %", *line[i]) : "-");
    figure.numbers.rows.push_back(std::move(row));
  }
  if (chart.lines.size() > 1) figure.legend = chart.lines;
  return figure;
}

// "The picture shows the first 12 of 20 levels of opt."
std::string first_levels(std::size_t most, std::size_t all, const std::string& what) {
  return all > most
             ? fmt::format("The picture shows the first {} of {} levels{}. ", most, all, what)
             : "";
}

Chart main_chart(const Analysis& analysis, const PlannedLevels& levels,
                 const std::vector<Relative>& means) {
  Chart chart{.title = "Main effects", .lines = {""}, .values = {{}}};
  std::size_t all = 0;
  for (std::size_t t = 0; t < levels.size(); ++t)
    for (const std::string& level : levels[t]) {
      if (++all > most_levels) continue;
      chart.columns.push_back(analysis.spec.treatments[t] + "=" + level);
      chart.values[0].push_back(
          average(analysis, means, [&](const CellMean& cell) { return cell.levels[t] == level; }));
    }
  chart.words = first_levels(most_levels, all, "");
  return chart;
}

Chart pair_chart(const Analysis& analysis, const PlannedLevels& levels,
                 const std::vector<Relative>& means, std::size_t a, std::size_t b) {
  const auto& names = analysis.spec.treatments;
  Chart chart{.title = names[a] + " by " + names[b],
              .words = first_levels(most_levels, levels[a].size(), " of " + names[a]) +
                       first_levels(colours, levels[b].size(), " of " + names[b]),
              .columns = levels[a]};
  if (chart.columns.size() > most_levels) chart.columns.resize(most_levels);
  for (const std::string& other : levels[b]) {
    if (chart.lines.size() == colours) break;
    chart.lines.push_back(names[b] + "=" + other);
    auto& line = chart.values.emplace_back();
    for (const std::string& level : chart.columns)
      line.push_back(average(analysis, means, [&](const CellMean& cell) {
        return cell.levels[a] == level && cell.levels[b] == other;
      }));
  }
  for (std::string& column : chart.columns) column = names[a] + "=" + column;
  return chart;
}

}  // namespace

std::vector<Figure> factors(const Analysis& analysis, const PlannedLevels& levels) {
  std::vector<Figure> figures;
  const std::size_t treatments = analysis.spec.treatments.size();
  if (treatments < 2 || levels.size() != treatments || analysis.calibration) return figures;
  const std::vector<Relative> means = relative_means(analysis, levels);
  if (means.empty()) return figures;
  figures.push_back(figure_of(analysis, main_chart(analysis, levels, means), false));
  for (std::size_t a = 0; a < treatments; ++a)
    for (std::size_t b = a + 1; b < treatments && figures.size() < most_pictures; ++b)
      figures.push_back(figure_of(analysis, pair_chart(analysis, levels, means, a, b), true));
  return figures;
}

}  // namespace stab::report::html
