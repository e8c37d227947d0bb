// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "report/drawing/axis.h"
#include "report/drawing/canvas.h"
#include "report/html/parts.h"
#include "report/html/plots.h"
#include "stats/numbers/tails.h"

namespace stab::report::html {
namespace {

using stats::Analysis;

constexpr double top = 26;
constexpr double bottom = 260;
constexpr double left = 62;
constexpr std::size_t most_points = 300;
constexpr std::size_t fewest = 4;

struct Left {
  std::uint32_t cell = 0;
  std::uint32_t block = 0;
  double value = 0;
};

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

void take_means(std::vector<Left>& values, std::uint32_t Left::* group) {
  std::map<std::uint32_t, std::pair<double, double>> sums;  // sum, count
  for (const Left& each : values) {
    sums[each.*group].first += each.value;
    sums[each.*group].second += 1;
  }
  for (Left& each : values) {
    const auto& [sum, count] = sums[each.*group];
    each.value -= sum / count;
  }
}

// By turns until nothing changes any more: of balanced trials one turn does it, of others these
// come close to the least squares of both together.
std::vector<double> left_over(const Analysis& analysis, const SubjectShots& subject) {
  constexpr int turns = 8;
  std::vector<Left> values = values_of(analysis, subject);
  const bool blocks = !analysis.spec.block.empty();
  for (int turn = 0; turn < (blocks ? turns : 1); ++turn) {
    take_means(values, &Left::cell);
    if (blocks) take_means(values, &Left::block);
  }
  std::vector<double> result;
  for (const Left& each : values) result.push_back(each.value);
  std::ranges::sort(result);
  return result;
}

struct Point {
  double normal = 0;
  double value = 0;
};

// Each number beside the one that a normal sample of this size has in its place on average (Blom's
// approximation).
std::vector<Point> points_of(const std::vector<double>& sorted) {
  std::vector<Point> points;
  const auto n = static_cast<double>(sorted.size());
  for (const std::size_t i : spread_out(sorted.size(), most_points))
    if (const auto z = stats::normal_quantile((static_cast<double>(i) + 0.625) / (n + 0.25)))
      points.push_back({.normal = *z, .value = sorted[i]});
  return points;
}

double deviation(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

Markup draw(const std::vector<Point>& points, double sd, const std::string& title,
            const std::string& label) {
  Range across;
  Range up;
  for (const Point& each : points) {
    across.include(each.normal);
    up.include(each.value);
    up.include(sd * each.normal);
  }
  const Axis x(across.padded(), left, width - 10);
  const Axis y(up.padded(), bottom, top);
  Canvas canvas(bottom + 40, label);
  canvas.vertical(y, left, width - 10, title);
  canvas.horizontal(x, top, bottom, "normal distribution, standard deviations");
  canvas.line(x.place(across.low), y.place(sd * across.low), x.place(across.high),
              y.place(sd * across.high), "guide");
  for (const Point& each : points)
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

}  // namespace

std::vector<Figure> residuals(const Analysis& analysis, const std::vector<SubjectShots>& subjects) {
  std::vector<Figure> figures;
  for (const SubjectShots& subject : subjects) {
    if (figures.size() == most_pictures) break;
    const std::vector<double> values = left_over(analysis, subject);
    if (values.size() < fewest) continue;
    const double sd = deviation(values);
    if (!(sd > 0) || !std::isfinite(sd)) continue;
    const std::vector<Point> points = points_of(values);
    const std::string unit =
        analysis.spec.log_scale ? "%, of logarithms" : axis_title(analysis.spec, subject.scale);
    Figure figure{.title = subject.subject.empty() ? "Residuals" : subject.subject};
    figure.words =
        fmt::format("Standard deviation {:.3g}{}.{}", sd, analysis.spec.log_scale ? " %" : "",
                    tests_of(analysis, subject.subject));
    if (points.size() < values.size())
      figure.words +=
          fmt::format(" {} of {} numbers, in equal steps.", points.size(), values.size());
    figure.picture = draw(points, sd, unit, "Residuals of " + subject.subject + " against normal");
    figure.numbers = {
        .columns = {{"standard deviations of a normal", true}, {"residual, " + unit, true}}};
    for (const Point& each : points)
      figure.numbers.rows.push_back(
          {fmt::format("{:.3f}", each.normal), fmt::format("{:.4g}", each.value)});
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace stab::report::html
