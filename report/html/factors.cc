// SPDX-License-Identifier: MIT
// Pictures of main effects and interactions: means of cells relative to the mean of all cells.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "report/html/canvas.h"
#include "report/html/parts.h"
#include "report/html/plots.h"
#include "report/words/answer.h"

namespace stab::report::html {
namespace {

using stats::Analysis;
using stats::CellMean;

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
      fmt::format("{} against the mean of all cells, %", response_words(analysis.spec)));
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
    figure.numbers.columns.push_back({line.empty() ? "against the mean" : line, true});
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
