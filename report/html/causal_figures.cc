// SPDX-License-Identifier: MIT
// Pictures of causal profiles: gains from virtual speedups of lines with confidence bands, and the
// results at each load.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "report/html/canvas.h"
#include "report/html/parts.h"
#include "report/sections/sections.h"
#include "report/words/causal_words.h"

namespace stab::report::html {
namespace {

using stats::Interval;
using stats::causal::AtLoad;
using stats::causal::Finding;
using stats::causal::Gain;
using stats::causal::Line;
using stats::causal::Measured;
using stats::causal::Point;
using stats::causal::PointAtLoad;
using stats::causal::PointKind;
using stats::causal::PointResult;
using stats::causal::Profile;

struct Spot {
  double x = 0;
  double y = 0;
  std::optional<Interval> band{};
  std::string tip{};
};
using Curve = std::vector<Spot>;  // sorted by x

struct CurveChart {
  std::string title{};
  std::string across{};
  std::string up{};
  std::vector<Curve> curves{};
};

// Bands of several curves are drawn side by side, so that they do not cover each other.
Markup draw(const CurveChart& chart) {
  constexpr double apart = 3;
  Range x;
  Range y;
  for (const Curve& curve : chart.curves)
    for (const Spot& spot : curve) {
      x.include(spot.x);
      y.include(spot.y);
      if (spot.band) y.include(spot.band->low);
      if (spot.band) y.include(spot.band->high);
    }
  const Axis across(x.padded(), plot_left + 10, width - 20);
  const Axis up(y.padded(), plot_bottom, plot_top);
  Canvas canvas(plot_bottom + 40, chart.title);
  canvas.vertical(up, plot_left, width - 10, chart.up);
  canvas.horizontal(across, plot_top, plot_bottom, chart.across);
  const double middle = static_cast<double>(chart.curves.size() - 1) / 2;
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    const std::string colour = colour_class(i);
    const auto place = [&](const Spot& spot) {
      return across.place(spot.x) + apart * (static_cast<double>(i) - middle);
    };
    const Curve& curve = chart.curves[i];
    for (std::size_t at = 0; at < curve.size(); ++at) {
      const Spot& spot = curve[at];
      if (spot.band)
        canvas.line(place(spot), up.place(spot.band->low), place(spot), up.place(spot.band->high),
                    colour + " thin");
      if (at + 1 < curve.size())
        canvas.line(place(spot), up.place(spot.y), place(curve[at + 1]), up.place(curve[at + 1].y),
                    colour + " thin");
      canvas.dot(place(spot), up.place(spot.y), 3, colour, spot.tip);
    }
  }
  return canvas.finish();
}

// In percent, cut off at 150 %. A gain is at most 100 %, and one wide band would make all others
// small.
double drawn(double share) {
  return std::clamp(100 * share, -150.0, 150.0);
}

Spot spot_of(double speedup, const Gain& gain, const std::string& line) {
  return {.x = 100 * speedup,
          .y = drawn(gain.value),
          .band = Interval{drawn(gain.interval.low), drawn(gain.interval.high)},
          .tip = fmt::format("if {} took {:.0f} % less time: {}", line, 100 * speedup,
                             causal_gain(gain))};
}

// The picture of one progress point. All source lines are in its table; only the best lines have
// curves. Returns nothing if no line has enough samples.
std::optional<Figure> curves_of(const CausalCell& cell, const PointResult& of) {
  const Point& point = cell.profile.points[of.point];
  const bool is_latency = point.kind == PointKind::latency;
  CurveChart chart{.title = fmt::format("{}: {} {}", cell.name, is_latency ? "latency" : "point",
                                        one_line(point.name, 100)),
                   .across = "reduction of the line's time, %",
                   .up = is_latency ? "less latency, %" : "less time per visit, %"};
  Figure figure{.title = chart.title};
  Part numbers;
  for (const Line& line : of.lines) {
    const std::string name = short_line(cell.profile.lines[line.line]);
    numbers.rows.push_back(line_row(cell.profile, line));
    drop_json_only(numbers.rows.back());
    if (line.finding == Finding::too_few || chart.curves.size() == colours) continue;
    Curve curve;
    for (const auto& step : line.steps) curve.push_back(spot_of(step.speedup, step.gain, name));
    chart.curves.push_back(std::move(curve));
    figure.legend.push_back(name);
  }
  if (chart.curves.empty()) return std::nullopt;
  figure.picture = draw(chart);
  figure.numbers = page_table(numbers);
  return figure;
}

// The picture of one progress point at all loads.
std::optional<Figure> against_load(const CausalLoads& cell, std::size_t number) {
  const Point& point = cell.profile.points[number];
  const bool is_latency = point.kind == PointKind::latency;
  const double unit = is_latency ? 1000 : 1;
  CurveChart chart{.title = fmt::format("{}: {} {}", cell.name, is_latency ? "latency" : "point",
                                        one_line(point.name, 100)),
                   .across = "speedup of arrivals, us per visit",
                   .up = is_latency ? "latency, us" : "visits per second",
                   .curves = {{}}};
  Figure figure{.title = chart.title};
  Part numbers;
  for (const AtLoad& at : cell.loads->loads) {
    const auto found = std::ranges::find(at.points, number, &PointAtLoad::point);
    if (found == at.points.end()) continue;
    const Measured& measured = found->measured;
    const auto& load = cell.profile.loads[at.load];
    Spot spot{.x = static_cast<double>(load.speedup_ns) / 1000, .y = measured.value / unit};
    if (measured.interval)
      spot.band = Interval{measured.interval->low / unit, measured.interval->high / unit};
    spot.tip = load_name(load) + ": " + measured_words(measured, unit);
    numbers.rows.push_back(point_row(cell.profile, at, *found));
    drop_json_only(numbers.rows.back());
    chart.curves[0].push_back(std::move(spot));
  }
  if (chart.curves[0].size() < 2) return std::nullopt;
  figure.picture = draw(chart);
  figure.numbers = page_table(numbers);
  return figure;
}

}  // namespace

std::vector<Figure> causal_curves(const Document& document) {
  std::vector<Figure> figures;
  for (const CausalCell& cell : document.causal.value_or(std::vector<CausalCell>())) {
    if (!cell.analysis) continue;
    for (const PointResult& point : cell.analysis->points)
      if (auto figure = curves_of(cell, point); figure) figures.push_back(*std::move(figure));
  }
  return figures;
}

std::vector<Figure> causal_loads(const Document& document) {
  std::vector<Figure> figures;
  for (const CausalLoads& cell : document.causal_loads) {
    if (!cell.loads) continue;
    for (std::size_t point = 0; point < cell.profile.points.size(); ++point)
      if (auto figure = against_load(cell, point); figure) figures.push_back(*std::move(figure));
  }
  return figures;
}

}  // namespace stab::report::html
