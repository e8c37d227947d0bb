// SPDX-License-Identifier: MIT
// Main effects and interactions as pictures: means of cells against the mean of all of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "report/drawing/axis.h"
#include "report/drawing/canvas.h"
#include "report/html/parts.h"
#include "report/html/plots.h"
#include "report/words/answer.h"

namespace stab::report::html {
namespace {

using stats::Analysis;
using stats::CellMean;

constexpr double top = 26;
constexpr double bottom = 230;
constexpr double left = 62;
constexpr std::size_t most_levels = 12;  // side by side

// A cell against the mean over all cells of its subject, in percent; without a subject's size, so
// that several can be averaged.
struct Relative {
  const CellMean* cell = nullptr;
  double percent = 0;
};

// Of subjects that have all cells, whose means are above 0: else levels are compared in different
// company.
std::vector<Relative> relative_means(const Analysis& analysis) {
  std::map<std::string, std::vector<const CellMean*>> subjects;
  std::size_t cells = 0;
  for (const CellMean& mean : analysis.means) {
    subjects[mean.subject].push_back(&mean);
    cells = std::max(cells, subjects[mean.subject].size());
  }
  std::vector<Relative> result;
  for (const auto& [subject, means] : subjects) {
    const bool positive = std::ranges::all_of(means, [](const CellMean* m) { return m->mean > 0; });
    if (means.size() < cells || !positive) continue;
    double sum = 0;
    for (const CellMean* each : means)
      sum += analysis.spec.log_scale ? std::log(each->mean) : each->mean;
    const double centre = sum / static_cast<double>(means.size());
    for (const CellMean* each : means)
      result.push_back(
          {.cell = each,
           .percent = 100 * (analysis.spec.log_scale ? std::expm1(std::log(each->mean) - centre)
                                                     : each->mean / centre - 1)});
  }
  return result;
}

std::vector<std::string> levels_of(const Analysis& analysis, std::size_t treatment) {
  std::vector<std::string> levels;
  for (const CellMean& mean : analysis.means)
    if (treatment < mean.levels.size() &&
        std::ranges::find(levels, mean.levels[treatment]) == levels.end())
      levels.push_back(mean.levels[treatment]);
  return levels;
}

// Of the cells that the condition picks.
template <class Condition>
std::optional<double> average(const std::vector<Relative>& means, Condition picks) {
  double sum = 0;
  std::size_t n = 0;
  for (const Relative& each : means) {
    if (!picks(*each.cell)) continue;
    sum += each.percent;
    ++n;
  }
  return n == 0 ? std::nullopt : std::optional(sum / static_cast<double>(n));
}

// Lines over columns; a value that is absent breaks its line.
struct Chart {
  std::string title{};
  std::vector<std::string> columns{};
  std::vector<std::string> lines{};  // names; one without a name has no legend
  std::vector<std::vector<std::optional<double>>> values{};  // by line, then column
};

// "code=true" in two lines.
void draw_column(Canvas& canvas, double x, const std::string& column, std::size_t letters) {
  const std::size_t equal = std::min(column.find('='), column.size() - 1);
  canvas.name(x, bottom + 16, column.substr(0, equal + 1), letters, "middle tick");
  canvas.name(x, bottom + 31, column.substr(equal + 1), letters, "middle tick");
}

Markup draw(const Analysis& analysis, const Chart& chart, bool joined) {
  Range range;
  range.include(0);
  for (const auto& line : chart.values)
    for (const auto& value : line)
      if (value) range.include(*value);
  const Axis up(range.padded(), bottom, top);
  const double step = (width - 10 - left) / static_cast<double>(chart.columns.size());
  const auto place = [&](std::size_t column) {
    return left + step * (static_cast<double>(column) + 0.5);
  };
  Canvas canvas(bottom + 40, chart.title);
  canvas.vertical(
      up, left, width - 10,
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
  Figure figure{.title = chart.title, .picture = draw(analysis, chart, joined)};
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

Chart main_chart(const Analysis& analysis, const std::vector<Relative>& means) {
  Chart chart{.title = "Main effects", .lines = {""}, .values = {{}}};
  for (std::size_t t = 0; t < analysis.spec.treatments.size(); ++t)
    for (const std::string& level : levels_of(analysis, t)) {
      if (chart.columns.size() == most_levels) return chart;
      chart.columns.push_back(analysis.spec.treatments[t] + "=" + level);
      chart.values[0].push_back(
          average(means, [&](const CellMean& cell) { return cell.levels[t] == level; }));
    }
  return chart;
}

Chart pair_chart(const Analysis& analysis, const std::vector<Relative>& means, std::size_t a,
                 std::size_t b) {
  const auto& names = analysis.spec.treatments;
  Chart chart{.title = names[a] + " by " + names[b]};
  chart.columns = levels_of(analysis, a);
  if (chart.columns.size() > most_levels) chart.columns.resize(most_levels);
  std::vector<std::string> others = levels_of(analysis, b);
  if (others.size() > colours) others.resize(colours);
  for (const std::string& other : others) {
    chart.lines.push_back(names[b] + "=" + other);
    auto& line = chart.values.emplace_back();
    for (const std::string& level : chart.columns)
      line.push_back(average(means, [&](const CellMean& cell) {
        return cell.levels[a] == level && cell.levels[b] == other;
      }));
  }
  for (std::string& column : chart.columns) column = names[a] + "=" + column;
  return chart;
}

}  // namespace

std::vector<Figure> factors(const Analysis& analysis) {
  std::vector<Figure> figures;
  const std::size_t treatments = analysis.spec.treatments.size();
  if (treatments < 2 || analysis.calibration) return figures;
  const std::vector<Relative> means = relative_means(analysis);
  const bool whole = std::ranges::all_of(
      means, [&](const Relative& each) { return each.cell->levels.size() == treatments; });
  if (means.empty() || !whole) return figures;
  figures.push_back(figure_of(analysis, main_chart(analysis, means), false));
  for (std::size_t a = 0; a < treatments; ++a)
    for (std::size_t b = a + 1; b < treatments && figures.size() < most_pictures; ++b)
      figures.push_back(figure_of(analysis, pair_chart(analysis, means, a, b), true));
  return figures;
}

}  // namespace stab::report::html
