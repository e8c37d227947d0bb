// SPDX-License-Identifier: MIT
#include "client/history/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/text.h"
#include "client/history/words.h"
#include "client/output.h"
#include "report/drawing/axis.h"
#include "report/drawing/canvas.h"
#include "report/drawing/figure.h"
#include "report/drawing/markup.h"
#include "report/html/head.h"
#include "report/html/parts.h"
#include "report/words/quantity.h"

namespace stab::client::history {
namespace {

using namespace report::html;

constexpr double top = 26;
constexpr double bottom = 230;
constexpr double left = 62;

class Picture {
 public:
  Picture(const History& history, const Series& series)
      : history_(history), series_(series), scale_(scale_of(history, series)) {}

  Figure figure() {
    Figure figure{.title = cell_name(series_.levels).empty() ? history_.benchmark
                                                             : cell_name(series_.levels)};
    figure.picture = draw();
    figure.numbers.columns = {
        {"experiment", true}, {"name"},      {"source"},     {"when"},  {"trials", true},
        {"mean", true},       {"low", true}, {"high", true}, {"change"}};
    for (std::size_t i = 0; i < series_.points.size(); ++i) add_numbers(i, figure.numbers);
    return figure;
  }

 private:
  [[nodiscard]] Range range() const {
    Range range;
    for (const Point& each : series_.points)
      for (const double value : {each.mean.mean, each.mean.low.value_or(each.mean.mean),
                                 each.mean.high.value_or(each.mean.mean)})
        range.include(value / scale_.factor);
    return range.padded();
  }

  Markup draw() {
    Canvas canvas(bottom + 52, "the mean of each experiment, in order of time");
    const Axis up(range(), bottom, top);
    Range across;
    across.include(0);
    across.include(static_cast<double>(series_.points.size()) + 1);
    const Axis right(across, left, width - 10);
    canvas.vertical(up, left, width - 10,
                    one_line(history_.experiments.back().response, 40) +
                        (scale_.unit.empty() ? "" : ", " + scale_.unit));
    draw_times(canvas, right);
    for (const Change& each : series_.changes) {
      const double x = right.place(static_cast<double>(each.at) + 0.5);
      canvas.line(x, top, x, bottom, "c1");
    }
    for (std::size_t i = 0; i < series_.points.size(); ++i)
      draw_point(canvas, right.place(static_cast<double>(i) + 1), up, series_.points[i]);
    return canvas.finish();
  }

  [[nodiscard]] std::string time_of(std::size_t point) const {
    return local_time(history_.experiments[series_.points[point].experiment].at_ns);
  }

  // Labels as many dots as there is room for with the experiment's number and its day. If all
  // experiments are of one day, the label has the time instead.
  void draw_times(Canvas& canvas, const Axis& right) const {
    constexpr std::size_t most = 6;
    constexpr std::size_t day =
        10;  // characters of the day in "2026-11-26 20:15:00"; an unknown time is ""
    const std::size_t count = series_.points.size();
    const std::string first = time_of(0).substr(0, day);
    bool one_day = true;
    for (std::size_t i = 0; i < count; ++i) one_day = one_day && time_of(i).starts_with(first);
    const std::size_t shown = std::min(count, most);
    for (std::size_t i = 0; i < shown; ++i) {
      const std::size_t at = shown < 2 ? 0 : i * (count - 1) / (shown - 1);
      const double x = right.place(static_cast<double>(at) + 1);
      canvas.line(x, top, x, bottom, "grid");
      canvas.text(x, bottom + 14,
                  fmt::format("{}", history_.experiments[series_.points[at].experiment].id),
                  "tick middle");
      canvas.text(x, bottom + 28,
                  one_day ? time_of(at).substr(std::min(day + 1, time_of(at).size()), 5)
                          : time_of(at).substr(0, day),
                  "tick middle");
    }
    canvas.text(
        (left + width - 10) / 2, bottom + 45,
        one_day ? "experiments of " + first + ", by start time" : "experiments, by start time",
        "axis middle");
  }

  void draw_point(Canvas& canvas, double x, const Axis& up, const Point& point) const {
    const auto place = [&](double value) { return up.place(value / scale_.factor); };
    if (point.mean.low && point.mean.high)
      canvas.line(x, place(*point.mean.low), x, place(*point.mean.high), "c0 thin");
    const Experiment& experiment = history_.experiments[point.experiment];
    canvas.dot(
        x, place(point.mean.mean), 3, "c0",
        fmt::format("{} {}, {}{}{}: {}", experiment.id, one_line(experiment.name, 60),
                    source_of(experiment), experiment.source.commit.empty() ? "" : ", ",
                    local_time(experiment.at_ns), report::quantity(point.mean.mean, scale_)));
  }

  void add_numbers(std::size_t i, Table& table) const {
    const Point& point = series_.points[i];
    const Experiment& experiment = history_.experiments[point.experiment];
    const auto shown = [&](const std::optional<double>& value) {
      return value ? report::quantity(*value, scale_) : "";
    };
    std::string change;
    for (const Change& each : series_.changes)
      if (each.at == i) change = change_words(each, series_, history_, scale_);
    table.rows.push_back({std::to_string(experiment.id), one_line(experiment.name, 100),
                          source_of(experiment), local_time(experiment.at_ns),
                          std::to_string(point.mean.n), shown(point.mean.mean),
                          shown(point.mean.low), shown(point.mean.high), change});
  }

  const History& history_;
  const Series& series_;
  report::Scale scale_;
};

}  // namespace

std::string as_page(const History& history) {
  std::vector<Figure> figures;
  std::size_t dots = 0;
  for (const Series& each : history.series) {
    dots += each.points.size();
    if (figures.size() < most_pictures && dots <= most_dots)
      figures.push_back(Picture(history, each).figure());
  }
  std::string words =
      "Each dot is the mean of an experiment, and the line through the dot is its confidence "
      "interval. A line from the top of a picture to the bottom marks a change.";
  if (figures.size() < history.series.size())
    words += fmt::format(" The page shows only the first {} of {} series.", figures.size(),
                         history.series.size());
  Markup markup;
  markup.literal("<!DOCTYPE html>\n").open("html", {{"lang", "en"}});
  add_head(markup, history.benchmark + " - stabd");
  markup.open("body").open("main").leaf("h1", one_line(history.benchmark, 200));
  markup.add(section("history", "History", words, figures));
  markup.leaf("pre", as_text(history), {{"tabindex", "0"}});
  markup.close().close().close();
  return markup.str();
}

}  // namespace stab::client::history
