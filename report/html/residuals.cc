// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/html/canvas.h"
#include "report/html/parts.h"
#include "report/html/plots.h"
#include "stats/numbers/tails.h"

namespace stab::report::html {
namespace {

using stats::Analysis;

constexpr double residual_bottom = 260;
constexpr std::size_t most_points = 300;
constexpr std::size_t fewest = 4;

struct Left {
  std::uint32_t cell = 0;
  std::uint32_t block = 0;
  double value = 0;
};
using Group = std::uint32_t Left::*;

std::vector<Left> values_of(const Analysis& analysis, const SubjectShots& subject) {
  std::vector<Left> values;
  for (const Shot* shot : subject.shots) {
    if (shot->fate != Fate::ok || !std::isfinite(shot->value)) continue;
    if (analysis.spec.log_scale && shot->value <= 0) continue;
    const double value =
        analysis.spec.log_scale ? 100 * std::log(shot->value) : shot->value / subject.scale.factor;
    values.push_back({.cell = shot->cell, .block = shot->block, .value = value});
  }
  return values;
}

// Numbers the groups from 0, without gaps. Returns how many there are.
std::size_t number_groups(std::vector<Left>& values, Group group) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (Left& each : values)
    each.*group =
        numbers.try_emplace(each.*group, static_cast<std::uint32_t>(numbers.size())).first->second;
  return numbers.size();
}

// Drops each number that is alone in its group: it equals its group's mean, so its residual is
// always 0. Returns whether a number was dropped.
bool drop_lonely(std::vector<Left>& values, Group group) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const Left& each : values) ++counts[each.*group];
  return std::erase_if(values, [&](const Left& each) { return counts[each.*group] == 1; }) > 0;
}

// Subtracts from each value the mean of its group. Returns the largest absolute mean.
double take_means(std::vector<Left>& values, Group group, std::size_t groups) {
  std::vector<double> sums(groups);
  std::vector<double> counts(groups);
  for (const Left& each : values) {
    sums[each.*group] += each.value;
    counts[each.*group] += 1;
  }
  double largest = 0;
  for (std::size_t i = 0; i < groups; ++i) {
    sums[i] /= counts[i];
    largest = std::max(largest, std::abs(sums[i]));
  }
  for (Left& each : values) each.value -= sums[each.*group];
  return largest;
}

// The number of connected parts: two values are connected if they share a cell or a block.
std::size_t parts_of(const std::vector<Left>& values, std::size_t cells, std::size_t blocks) {
  std::vector<std::size_t> above(cells + blocks);
  for (std::size_t i = 0; i < above.size(); ++i) above[i] = i;
  const auto root = [&](std::size_t i) {
    while (above[i] != i) i = above[i] = above[above[i]];
    return i;
  };
  std::size_t parts = cells + blocks;
  for (const Left& each : values) {
    const std::size_t cell = root(each.cell);
    const std::size_t block = root(cells + each.block);
    if (cell == block) continue;
    above[cell] = block;
    --parts;
  }
  return parts;
}

struct Residuals {
  std::vector<double> values;  // ascending
  double sd = 0;               // by the residual degrees of freedom
};

double sum_of_squares(const std::vector<Left>& values) {
  double sum = 0;
  for (const Left& each : values) sum += each.value * each.value;
  return sum;
}

// The least-squares residuals of y ~ cell or y ~ cell + block. Subtracting the means of blocks and
// cells in turns converges to them. Returns nothing if too few values are left, or if they do not
// converge.
std::optional<Residuals> left_over(const Analysis& analysis, const SubjectShots& subject) {
  constexpr int most_turns = 300;
  const bool by_block = !analysis.spec.block.empty();
  std::vector<Left> values = values_of(analysis, subject);
  while (drop_lonely(values, &Left::cell) || (by_block && drop_lonely(values, &Left::block))) {
  }
  if (values.size() < fewest) return std::nullopt;
  const std::size_t cells = number_groups(values, &Left::cell);
  const std::size_t blocks = by_block ? number_groups(values, &Left::block) : 0;
  const std::size_t used = by_block ? cells + blocks - parts_of(values, cells, blocks) : cells;
  if (values.size() <= used) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  const double noise = 1e-12 * std::sqrt(sum_of_squares(values) / n);  // rounding
  bool ended = !by_block;
  take_means(values, &Left::cell, cells);
  for (int turn = 0; turn < most_turns && !ended; ++turn) {
    const double block = take_means(values, &Left::block, blocks);
    const double cell = take_means(values, &Left::cell, cells);
    ended = std::max(block, cell) <= noise + 1e-9 * std::sqrt(sum_of_squares(values) / n);
  }
  Residuals result{.values = {},
                   .sd = std::sqrt(sum_of_squares(values) / (n - static_cast<double>(used)))};
  if (!ended || !std::isfinite(result.sd) || result.sd <= noise) return std::nullopt;
  for (const Left& each : values) result.values.push_back(each.value);
  std::ranges::sort(result.values);
  return result;
}

struct QuantilePoint {
  double normal = 0;
  double value = 0;
};

// Pairs each number with the expected value of the same rank in a normal sample of this size
// (Blom's approximation).
std::vector<QuantilePoint> points_of(const std::vector<double>& sorted) {
  std::vector<QuantilePoint> points;
  const auto n = static_cast<double>(sorted.size());
  for (const std::size_t i : spread_out(sorted.size(), most_points))
    if (const auto z = stats::normal_quantile((static_cast<double>(i) + 0.625) / (n + 0.25)))
      points.push_back({.normal = *z, .value = sorted[i]});
  return points;
}

// The standard deviation of the residuals as drawn. It is smaller than the model's, because the
// means are fitted to the values. Normally distributed residuals lie on a line of this slope.
double spread_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

Markup draw(const std::vector<QuantilePoint>& points, double slope, const std::string& title,
            const std::string& label) {
  Range across;
  Range up;
  for (const QuantilePoint& each : points) {
    across.include(each.normal);
    up.include(each.value);
    up.include(slope * each.normal);
  }
  const Axis x(across.padded(), plot_left, width - 10);
  const Axis y(up.padded(), residual_bottom, plot_top);
  Canvas canvas(residual_bottom + 40, label);
  canvas.vertical(y, plot_left, width - 10, title);
  canvas.horizontal(x, plot_top, residual_bottom, "normal distribution, standard deviations");
  canvas.line(x.place(across.low), y.place(slope * across.low), x.place(across.high),
              y.place(slope * across.high), "guide");
  for (const QuantilePoint& each : points)
    canvas.dot(x.place(each.normal), y.place(each.value), 2.4, "c0 faint",
               fmt::format("{:.3g} at {:.3g} standard deviations", each.value, each.normal));
  return canvas.finish();
}

std::string tests_of(const Analysis& analysis, const std::string& subject) {
  std::string words;
  for (const stats::Assumption& each : analysis.assumptions)
    if (each.property == stats::Property::normality && each.subject == subject)
      words += fmt::format(" {} of the {}: p = {}, {}.", each.test, each.of, p_text(each.p),
                           each.holds ? "holds" : "rejected");
  return words;
}

Figure figure_of(const Analysis& analysis, const SubjectShots& subject, const Residuals& rest) {
  const std::vector<QuantilePoint> points = points_of(rest.values);
  const std::string unit =
      analysis.spec.log_scale ? "%, of logarithms" : axis_title(analysis.spec, subject.scale);
  Figure figure{.title = subject.subject.empty() ? "Residuals" : subject.subject};
  figure.words =
      fmt::format("Standard deviation {:.3g}{}.{}", rest.sd, analysis.spec.log_scale ? " %" : "",
                  tests_of(analysis, subject.subject));
  if (points.size() < rest.values.size())
    figure.words += fmt::format(" {} of {} values are shown, evenly spaced.", points.size(),
                                rest.values.size());
  figure.picture = draw(points, spread_of(rest.values), unit,
                        "Residuals of " + subject.subject + " against normal");
  figure.numbers = {
      .columns = {{"standard deviations of a normal", true}, {"residual, " + unit, true}}};
  for (const QuantilePoint& each : points)
    figure.numbers.rows.push_back(
        {fmt::format("{:.3f}", each.normal), fmt::format("{:.4g}", each.value)});
  return figure;
}

// Why there are no pictures; "" if there may be.
std::string why_none(const Analysis& analysis, const Shots& shots) {
  if (!analysis.spec.seed.empty())
    return "The residuals of this design are not shown: the model includes seeds, so a value minus "
           "its cell mean is not a residual of the model.";
  if (shots.kept_ok < shots.ok)
    return "The residuals are not shown, because this page contains only a sample of the values. "
           "The block means of a sample differ from the block means of the model.";
  return "";
}

}  // namespace

std::vector<Figure> residuals(const Analysis& analysis, const Shots& shots,
                              const std::vector<SubjectShots>& subjects) {
  std::vector<Figure> figures;
  if (!why_none(analysis, shots).empty()) return figures;
  std::size_t all = 0;
  for (const SubjectShots& subject : subjects) {
    const auto rest = left_over(analysis, subject);
    if (!rest) continue;
    if (++all <= most_pictures) figures.push_back(figure_of(analysis, subject, *rest));
  }
  if (!figures.empty())
    figures.front().words = pictured_words(figures.size(), all) + figures.front().words;
  return figures;
}

Markup residual_part(const Analysis& analysis, const Shots& shots,
                     const std::vector<SubjectShots>& subjects) {
  constexpr const char* title = "Residuals against a normal distribution";
  Markup markup;
  if (shots.shots.empty()) return markup;
  if (const std::string why = why_none(analysis, shots); !why.empty())
    return markup.open("section", {{"id", "residuals"}})
        .leaf("h2", title)
        .leaf("p", why, {{"class", "words"}})
        .close();
  return section(
      "residuals", title,
      fmt::format(
          "A residual is a value minus the {}. A value is left out if there are no other values to "
          "average it with. Normally distributed residuals lie on the straight line.",
          analysis.spec.block.empty() ? "mean of its cell" : "means of its cell and its block"),
      residuals(analysis, shots, subjects));
}

}  // namespace stab::report::html
