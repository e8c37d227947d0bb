// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "client/history.h"
#include "client/streams.h"
#include "plan/measures/names.h"
#include "report/html/canvas.h"
#include "report/html/markup.h"
#include "report/html/parts.h"
#include "report/json.h"
#include "report/model.h"
#include "report/sections/section.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"
#include "stats/data/notes.h"
#include "stats/series/change_points.h"
#include "stats/series/watch.h"
#include "stats/verdicts/analysis.h"

namespace stab::client::history {
namespace {

using results::history::LeftOut;
using results::history::Mean;
using results::history::Point;

constexpr std::size_t page_width = 100;
constexpr std::size_t axis_width = 24;
constexpr std::size_t longest_name = 40;

const char* unit_word(stats::Unit unit) {
  return unit == stats::Unit::nanoseconds ? "ns" : unit == stats::Unit::bytes ? "bytes" : "";
}

// A text axis from the smallest to the largest number of a series.
class TextAxis {
 public:
  explicit TextAxis(const Series& series) {
    low_ = high_ = series.points.front().mean.mean;
    for (const Point& each : series.points) {
      low_ = std::min(low_, each.mean.low.value_or(each.mean.mean));
      high_ = std::max(high_, each.mean.high.value_or(each.mean.mean));
    }
  }
  // "   [--o--]     "
  [[nodiscard]] std::string draw(const Mean& mean) const {
    std::string line(axis_width, ' ');
    if (mean.low && mean.high) {
      const std::size_t from = place(*mean.low);
      const std::size_t to = place(*mean.high);
      for (std::size_t i = from; i <= to; ++i) line[i] = '-';
      line[from] = '[';
      line[to] = ']';
    }
    line[place(mean.mean)] = 'o';
    return line;
  }

 private:
  [[nodiscard]] std::size_t place(double value) const {
    if (!(high_ > low_)) return axis_width / 2;
    const double share = std::clamp((value - low_) / (high_ - low_), 0.0, 1.0);
    return static_cast<std::size_t>(std::lround(share * (axis_width - 1)));
  }

  double low_ = 0;
  double high_ = 0;
};

std::string change_size(const Change& change, const report::Scale& scale) {
  if (change.ratio)
    return *change.ratio >= 2 ? fmt::format("{:.3g} times as much", *change.ratio)
                              : fmt::format("{:.3g} % {}", std::abs(100 * (*change.ratio - 1)),
                                            *change.ratio > 1 ? "more" : "less");
  return fmt::format("{} {}", report::quantity(std::abs(change.difference), scale),
                     change.difference > 0 ? "more" : "less");
}

// " (interval 2.0 s or more)". "" if the error of the bounds is not known.
std::string loss_interval_words(const Mean& mean, const report::Scale& scale) {
  const auto& low = mean.loss_interval_low;
  const auto& high = mean.loss_interval_high;
  if (low && high)
    return fmt::format(" (interval {} to {})", report::quantity(*low, scale),
                       report::quantity(*high, scale));
  if (low) return fmt::format(" (interval {} or more)", report::quantity(*low, scale));
  if (high) return fmt::format(" (interval {} or less)", report::quantity(*high, scale));
  return "";
}

// "; with the 4 missing trials, the mean is at least 2.1 s". "" if no trial is missing.
std::string missing_words(const Mean& mean, std::int64_t id, const report::Scale& scale) {
  if (mean.missing == 0) return "";
  const std::string start = fmt::format("; with the {} missing trials", mean.missing);
  const std::string interval = loss_interval_words(mean, scale);
  if (mean.loss_low && mean.loss_high)
    return fmt::format("{}, the mean lies between {} and {}{}", start,
                       report::quantity(*mean.loss_low, scale),
                       report::quantity(*mean.loss_high, scale), interval);
  if (mean.loss_low)
    return fmt::format(
        "{}, the mean is at least {}{}, so only an increase can raise an alarm (see 'stabctl logs "
        "{}')",
        start, report::quantity(*mean.loss_low, scale), interval, id);
  if (mean.loss_high)
    return fmt::format(
        "{}, the mean is at most {}{}, so only a decrease can raise an alarm (see 'stabctl logs "
        "{}')",
        start, report::quantity(*mean.loss_high, scale), interval, id);
  return fmt::format(
      "{}, the mean could have any value, so this experiment can't raise an alarm (see 'stabctl "
      "logs {}')",
      start, id);
}

// A series as a table with a row for each experiment, from which the text, the page and JSON are
// made.
class Points {
 public:
  Points(const History& history, const Series& series)
      : history_(history),
        series_(series),
        scale_(scale_of(history, series)),
        axis_(series),
        has_sources_(std::ranges::any_of(history.experiments, [](const Experiment& each) {
          return !each.source.commit.empty();
        })) {}

  [[nodiscard]] report::Part table() const {
    report::Part part;
    for (std::size_t i = 0; i < series_.points.size(); ++i) part.rows.push_back(row_of(i));
    return part;
  }

 private:
  // The text and the page have some columns in different places, so these columns are there twice.
  [[nodiscard]] report::Row row_of(std::size_t i) const {
    using report::column;
    using report::json_only;
    using report::shown_only;
    const Mean& mean = series_.points[i].mean;
    const Experiment& experiment = history_.experiments[series_.points[i].experiment];
    const std::string id = std::to_string(experiment.id);
    const std::string source = source_of(experiment);
    report::Row row{column("id", static_cast<std::uint64_t>(experiment.id), "id", id).in_text(),
                    shown_only("experiment", id).on_page(),
                    shown_only("name", one_line(experiment.name, 100)).left().on_page(),
                    shown_only("source", source).left().on_page(),
                    shown_only("when", local_time(experiment.at_ns)).left(),
                    shown_only("mean", shown(mean.mean)).in_text(),
                    column("n", std::uint64_t{mean.n}, "trials", std::to_string(mean.n)),
                    column("mean", mean.mean, "mean", shown(mean.mean)).on_page(),
                    column("low", report::known(mean.low), "low", shown(mean.low)).on_page(),
                    column("high", report::known(mean.high), "high", shown(mean.high)).on_page(),
                    shown_only("change", change_at(i)).left().on_page(),
                    shown_only("", axis_.draw(mean)).left().in_text()};
    if (has_sources_) row.push_back(shown_only("source", source).left().in_text());
    row.push_back(shown_only("experiment", words_of(series_.points[i])).left().in_text());
    const bool is_missing = mean.missing > 0;
    row.push_back(is_missing ? json_only("missing", std::uint64_t{mean.missing}) : report::Field());
    const auto add_bound = [&](const char* key, std::optional<double> bound) {
      row.push_back(is_missing && bound ? json_only(key, *bound) : report::Field());
    };
    add_bound("loss_low", mean.loss_low);
    add_bound("loss_high", mean.loss_high);
    add_bound("loss_interval_low", mean.loss_interval_low);
    add_bound("loss_interval_high", mean.loss_interval_high);
    return row;
  }

  [[nodiscard]] std::string shown(std::optional<double> value) const {
    return value ? report::quantity(*value, scale_) : "";
  }

  // "nightly; 4 of 40 trials are missing; with the 4 missing trials, the mean is at least 2.1 s"
  [[nodiscard]] std::string words_of(const Point& point) const {
    const Experiment& experiment = history_.experiments[point.experiment];
    std::string words = one_line(experiment.name, longest_name);
    for (const std::string& remark : history_.remarks[point.experiment]) words += "; " + remark;
    if (!experiment.facts) words += missing_words(point.mean, experiment.id, scale_);
    return words;
  }

  // "" if no change begins at this point.
  [[nodiscard]] std::string change_at(std::size_t point) const {
    const auto found = std::ranges::find(series_.changes, point, &Change::at);
    return found == series_.changes.end() ? "" : change_words(*found, series_, history_, scale_);
  }

  const History& history_;
  const Series& series_;
  report::Scale scale_;
  TextAxis axis_;
  bool has_sources_;
};

// Whether nodes with the same hardware count as one machine.
bool has_pool(const History& history) {
  return history.options.pool && !history.experiments.back().pool.empty();
}

// Whether the nodes may be the reason for the alarm. The alarms before it divide the series.
bool comes_with_nodes(const History& history, const Series& series, std::size_t alarm) {
  const stats::Alarm& each = series.alarms[alarm];
  const std::size_t from = alarm == 0 ? 0 : series.alarms[alarm - 1].at;
  return results::history::may_be_nodes(history.experiments, series, from, each.at,
                                        each.raised + 1);
}

class Text {
 public:
  explicit Text(const History& history) : history_(history), latest_(history.experiments.back()) {}

  std::string text() {
    heading();
    for (const Series& each : history_.series) add(each);
    notes();
    return text_;
  }

 private:
  void heading() {
    text_ += fmt::format("{}, {}: {} experiment{} on {}\n", one_line(history_.benchmark, 100),
                         one_line(latest_.response, 60), history_.experiments.size(),
                         history_.experiments.size() == 1 ? "" : "s",
                         has_pool(history_)
                             ? "nodes with the same hardware, " + one_line(latest_.pool, 300)
                         : latest_.machine.empty() ? "an unknown machine"
                                                   : one_line(latest_.machine, 300));
    const char* what = latest_.log_scale ? "Geometric means over the trials of each experiment"
                                         : "Arithmetic means over the trials of each experiment";
    if (std::ranges::all_of(history_.series, &Series::exact))
      what = "The value that all trials of an experiment share";
    text_ += fmt::format("{}; {} is better\n", what, latest_.higher_is_better ? "more" : "less");
  }

  void add(const Series& series) {
    text_ += "\n" + (series.levels.empty() ? "" : cell_name(series.levels) + "\n");
    add_table(report::grid_of(Points(history_, series).table()).render(false), series);
  }

  // Adds the header, a line for each point, and a line before each point where a change begins.
  void add_table(const std::string& table, const Series& series) {
    const report::Scale scale = scale_of(history_, series);
    std::istringstream lines(table);
    std::string line;
    std::getline(lines, line);
    text_ += line + "\n";
    auto change = series.changes.begin();
    for (std::size_t i = 0; std::getline(lines, line); ++i) {
      if (change != series.changes.end() && change->at == i)
        text_ += "  ---- change: " + change_words(*change++, series, history_, scale) + "\n";
      text_ += line + "\n";
    }
  }

  void note(const std::string& words) { text_ += report::paragraph("  - ", words, page_width); }

  void notes() {
    text_ += "\nNotes\n";
    if (history_.permutations > 0)
      note(fmt::format(
          "Changes were found by applying the E-divisive method to the experiments' "
          "means ({} permutations, seed {}, alpha {:.3g}{}). A change point tells you when the "
          "mean changed, but not why. The cause may be the machine rather than the program.",
          history_.permutations, history_.options.seed, history_.alpha_of_each,
          history_.alpha_of_each < history_.options.alpha
              ? fmt::format(" for each series, {:.3g} for all of them together",
                            history_.options.alpha)
              : ""));
    note_on_untested();
    notes_on_alarms();
    if (std::ranges::any_of(history_.series, &Series::exact))
      note("The size of a build does not vary, so every difference is a change and needs no test.");
    const auto fixed = std::ranges::count(history_.experiments, false, &Experiment::all_moved);
    // The layout does not affect simulated counts or properties of builds.
    if (fixed > 0 && !latest_.simulated && !plan::is_of_builds(latest_.response))
      note(fmt::format(
          "In {} of {} experiments the positions of functions were not random: each build had a "
          "single layout, so a change between builds may come from the layout. To get means over "
          "many layouts, use CC = \"szc\", link_order and env_bytes.",
          fixed, history_.experiments.size()));
    notes_on_left_out();
  }

  void note_on_untested() {
    const auto untested = std::ranges::count_if(
        history_.series, [](const Series& each) { return !each.tested && !each.exact; });
    if (untested == 0) return;
    const std::string some = fmt::format("{} of {} series", untested, history_.series.size());
    if (history_.too_many)
      return note(fmt::format(
          "{} cannot be tested for changes, because an alpha of {:.2g} for each series needs too "
          "many permutations. To test for changes, use a larger --alpha or a smaller --last.",
          some, history_.alpha_of_each));
    std::size_t needed = 4;
    while (stats::least_p(needed) > history_.alpha_of_each) ++needed;
    note(
        fmt::format("{} cannot be tested for changes: with fewer than {} experiments in a series, "
                    "p cannot be as small as {:.2g}, which is the alpha of each series.",
                    some, needed, history_.alpha_of_each));
  }

  // Change points are valid for one look at a history, alarms for a look after each experiment.
  void notes_on_alarms() {
    const auto watched = std::ranges::count_if(history_.series, &Series::watched);
    if (watched == 0) return;
    bool any = false;
    for (const Series& series : history_.series)
      for (std::size_t i = 0; i < series.alarms.size(); ++i) {
        const stats::Alarm& each = series.alarms[i];
        any = true;
        note(
            fmt::format("Alarm{}: the mean changed at experiment {}; the change was first detected "
                        "at experiment {}.{}",
                        series.levels.empty() ? "" : " of " + cell_name(series.levels),
                        history_.experiments[series.points[each.at].experiment].id,
                        history_.experiments[series.points[each.raised].experiment].id,
                        comes_with_nodes(history_, series, i)
                            ? " The nodes changed, too, and may be the reason."
                            : ""));
      }
    note(
        fmt::format("{}If you check after each experiment, you find false changes more often than "
                    "alpha says, because p is valid for a single check. Alarms stay valid if "
                    "you check after each experiment, for up to 1,000 experiments.",
                    any ? "" : "No alarm. "));
  }

  void notes_on_left_out() {
    constexpr std::size_t most = 10;
    for (std::size_t i = 0; i < std::min(most, history_.left_out.size()); ++i) {
      const LeftOut& each = history_.left_out[i];
      note(fmt::format("Experiment {} ({}) is left out: {}.", each.id,
                       one_line(each.name, longest_name), one_line(each.reason, 300)));
    }
    if (history_.left_out.size() > most)
      note(fmt::format("{} more experiments are left out; --json lists them.",
                       history_.left_out.size() - most));
    if (history_.not_looked_at > 0)
      note(fmt::format("{} earlier experiments were not examined (--last).",
                       history_.not_looked_at));
  }

  const History& history_;
  const Experiment& latest_;
  std::string text_;
};

using report::or_null;
using Json = nlohmann::ordered_json;

Json json_of(const History& history, const Series& series) {
  Json changes = Json::array();
  for (const Change& each : series.changes) {
    changes.push_back({{"id", history.experiments[series.points[each.at].experiment].id},
                       {"ratio", or_null(each.ratio)},
                       {"difference", each.difference},
                       {"p", or_null(each.p)}});
    if (!each.stands) changes.back()["stands"] = false;
    if (each.other_nodes) changes.back()["other_nodes"] = true;
  }
  Json alarms = Json::array();
  const auto id_of = [&](std::size_t place) {
    return history.experiments[series.points[place].experiment].id;
  };
  for (std::size_t i = 0; i < series.alarms.size(); ++i) {
    const stats::Alarm& each = series.alarms[i];
    alarms.push_back({{"id", id_of(each.at)}, {"raised", id_of(each.raised)}});
    if (comes_with_nodes(history, series, i)) alarms.back()["other_nodes"] = true;
  }
  return {{"levels", series.levels},
          {"exact", series.exact},
          {"tested", series.tested},
          {"watched", series.watched},
          {"points", report::rows_json({.parts = {Points(history, series).table()}})},
          {"changes", std::move(changes)},
          {"alarms", std::move(alarms)}};
}

}  // namespace

std::string cell_name(const Levels& levels) {
  std::vector<std::string> parts;
  for (const auto& [treatment, level] : levels)
    parts.push_back(one_line(treatment + "=" + level, longest_name));
  return fmt::format("{}", fmt::join(parts, " "));
}

report::Scale scale_of(const History& history, const Series& series) {
  if (series.exact) return {.factor = 1, .unit = "B"};
  std::vector<stats::CellMean> means;
  for (const Point& each : series.points)
    means.push_back(
        {.n = each.mean.n, .mean = each.mean.mean, .low = each.mean.low, .high = each.mean.high});
  return report::scale_for(means, history.experiments.back().unit);
}

std::string change_words(const Change& change, const Series& series, const History& history,
                         const report::Scale& scale) {
  const bool better = (change.difference < 0) != history.experiments.back().higher_is_better;
  const std::int64_t id = history.experiments[series.points[change.at].experiment].id;
  return fmt::format("{} from experiment {} on, {} ({})", change_size(change, scale), id,
                     !change.stands       ? "but missing trials may be the reason"
                     : change.other_nodes ? "but the nodes changed, too, and may be the reason"
                     : better             ? "better"
                                          : "worse",
                     change.p ? stats::p_words(*change.p) : "exactly");
}

std::string source_of(const Experiment& experiment) {
  return one_line(report::to_text(experiment.source), longest_name);
}

std::string as_text(const History& history) {
  return Text(history).text();
}

std::string as_json(const History& history) {
  const Experiment& latest = history.experiments.back();
  Json experiments = Json::array();
  for (std::size_t i = 0; i < history.experiments.size(); ++i) {
    const Experiment& each = history.experiments[i];
    experiments.push_back({{"id", each.id},
                           {"experiment", each.name},
                           {"from_ns", each.at_ns},
                           {"machine", each.machine},
                           {"branch", or_null(each.source.branch)},
                           {"commit", or_null(each.source.commit)},
                           {"layouts_random", each.all_moved},
                           {"remarks", history.remarks[i]}});
  }
  Json series = Json::array();
  for (const Series& each : history.series) series.push_back(json_of(history, each));
  Json left_out = Json::array();
  for (const LeftOut& each : history.left_out)
    left_out.push_back({{"id", each.id}, {"experiment", each.name}, {"reason", each.reason}});
  const Json all{{"benchmark", history.benchmark},
                 {"response", latest.response},
                 {"unit", or_null(unit_word(latest.unit))},
                 {"log_scale", latest.log_scale},
                 {"higher_is_better", latest.higher_is_better},
                 {"method", "e-divisive"},
                 {"alpha", history.options.alpha},
                 {"alpha_of_each", history.permutations > 0 ? Json(history.alpha_of_each) : Json()},
                 {"permutations", history.permutations},
                 {"pool", has_pool(history) ? Json(latest.pool) : Json()},
                 {"seed", history.options.seed},
                 {"experiments", std::move(experiments)},
                 {"series", std::move(series)},
                 {"left_out", std::move(left_out)},
                 {"not_looked_at", history.not_looked_at}};
  return json_text(all, 2) + "\n";
}

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
    figure.numbers = page_table(Points(history_, series_).table());
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
                    axis_title(one_line(history_.experiments.back().response, 40), scale_));
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
      "interval. A colored line from the top of a picture to the bottom marks a change.";
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
