// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <optional>
#include <ratio>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"
#include "report/words/causal_words.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

using stats::causal::AtLoad;
using stats::causal::Change;
using stats::causal::Finding;
using stats::causal::Gain;
using stats::causal::Line;
using stats::causal::Loads;
using stats::causal::Measured;
using stats::causal::Point;
using stats::causal::PointAtLoad;
using stats::causal::PointKind;
using stats::causal::PointResult;
using stats::causal::Profile;
using stats::causal::Step;

constexpr std::size_t most_shown = 40;
constexpr std::size_t bar_width = 20;

const char* kind_of(const Point& point) {
  return point.kind == PointKind::latency ? "latency" : "throughput";
}

// JSON leaves the field out of this row.
Field without_key(Field field) {
  field.key.clear();
  return field;
}

Row measured_row(const Measured& measured) {
  Row row{json_only("value", measured.value)};
  if (!measured.interval) return row;
  row.push_back(json_only("low", measured.interval->low));
  row.push_back(json_only("high", measured.interval->high));
  return row;
}

Field measured_field(std::string key, std::string heading,
                     const std::optional<Measured>& measured) {
  if (!measured) return shown_only(std::move(heading), "unknown").left();
  return column(std::move(key), measured_row(*measured), std::move(heading),
                measured_words(*measured))
      .left();
}

Row step_row(const Step& step) {
  Row row{json_only("speedup", step.speedup)};
  for (Field& each : gain_row(step.gain)) row.push_back(std::move(each));
  row.push_back(json_only("experiments", step.experiments));
  row.push_back(json_only("visits", step.visits));
  row.push_back(json_only("near", gain_row(step.near)));
  return row;
}

Value asked(const stats::causal::Load& load) {
  return load.asked > 0 ? Value(load.asked) : Value();
}

std::string duration_of(const stats::causal::Load& load) {
  return format_duration(std::chrono::nanoseconds(load.speedup_ns));
}

// The texts of the columns that people see.
std::vector<std::string> cells_of(const Row& row) {
  std::vector<std::string> cells;
  for (const Field& each : row)
    if (each.heading) cells.push_back(each.text);
  return cells;
}

std::vector<std::string> headings_of(const Row& row) {
  std::vector<std::string> headings;
  for (const Field& each : row)
    if (each.heading) headings.push_back(*each.heading);
  return headings;
}

class ProfileText {
 public:
  ProfileText(const Profile& profile, const stats::causal::Analysis& analysis, double alpha)
      : profile_(profile), analysis_(analysis), alpha_(alpha) {}

  std::string text() {
    for (const PointResult& point : analysis_.points) write(point);
    remarks();
    return std::move(text_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  void write(const PointResult& point) {
    const Point& named = profile_.points[point.point];
    const bool is_latency = named.kind == PointKind::latency;
    add("{} {}: {}\n", is_latency ? "Latency" : "Progress point", one_line(named.name, 200),
        causal_answer(profile_, point));
    if (point.base)
      add("{} at speedup 0: {:.4g} us. The experiments counted {} {} in total.\n",
          is_latency ? "Latency" : "Time per visit", *point.base / 1000, point.visits,
          is_latency ? "arrivals" : "visits");
    if (!point.is_steady)
      add("{} arrivals, {} departures: these numbers differ too much for Little's law to give a "
          "valid latency.\n",
          point.visits, point.departures);
    add("\n");
    table(point);
    add("\n");
  }

  // A bar stands before the gain, which is the third column.
  void write(const std::vector<std::string>& cells, const std::vector<std::string>& headings,
             std::size_t width, std::string_view bar) {
    add("{:<{}}  {:>8}  {:<{}}  {:>24}  {:<11}{:>9}  {:>7}", cells[0], width, cells[1], bar,
        bar_width, cells[2], cells[3], cells[4], cells[5]);
    for (std::size_t i = 6; i < cells.size(); ++i) add("  {:>{}}", cells[i], headings[i].size());
    add("\n");
  }

  void table(const PointResult& point) {
    double most = 0;
    std::size_t width = 4;
    for (const Line& line : point.lines) {
      most = std::max(most, std::fabs(line.at_quarter.value));
      width = std::max(width, short_line(profile_.lines[line.line]).size());
    }
    // A point without lines has the same headings.
    const auto headings = headings_of(line_row(profile_, Line()));
    write(headings, headings, width, "");
    std::size_t shown = 0;
    std::size_t too_few = 0;
    for (const Line& line : point.lines) {
      if (line.finding == Finding::too_few) ++too_few;
      if (shown == most_shown) continue;
      ++shown;
      const auto cells = cells_of(line_row(profile_, line));
      if (line.finding == Finding::too_few)
        add("{:<{}}  {:>8}  {}\n", cells[0], width, cells[1], cells[3]);
      else
        write(cells, headings, width, bar(line.at_quarter.value, most));
    }
    if (shown < point.lines.size())
      add("The table leaves out {} more lines (see --json). In total, {} lines have too few "
          "experiments for a result.\n",
          point.lines.size() - shown, too_few);
  }

  static std::string bar(double value, double most) {
    if (!(most > 0)) return "";
    const auto length = static_cast<std::size_t>(std::lround(std::fabs(value) / most * bar_width));
    return std::string(length, value < 0 ? '<' : '#');
  }

  void remarks() {
    // An imported profile may claim any number of hours.
    const std::chrono::duration<double, std::ratio<3600>> hours(std::min(analysis_.hours, 1e6));
    add("{} experiments in {} run{}. Without the pauses, the run{} took {}. Intervals are {} "
        "intervals; p is corrected for all lines (Holm).\n",
        analysis_.experiments, analysis_.runs, analysis_.runs == 1 ? "" : "s",
        analysis_.runs == 1 ? "" : "s",
        format_duration(std::chrono::duration_cast<std::chrono::nanoseconds>(hours)),
        level_text(alpha_));
    if (profile_.left_out != 0)
      add("Left out because of a duration below 0: {} more experiment{}. coz writes such a "
          "duration if the pauses took longer than the experiment.\n",
          profile_.left_out, profile_.left_out == 1 ? "" : "s");
    if (!analysis_.runs_are_clusters)
      add("There are fewer than {} runs, so the intervals come from parts of these runs and do not "
          "include differences between runs.\n",
          stats::causal::least_runs);
    if (!analysis_.is_phase_known)
      add("The profile has no samples of whole runs, so the gain of a line applies only to the "
          "part of a run that executes the line.\n");
  }

  const Profile& profile_;
  const stats::causal::Analysis& analysis_;
  double alpha_;
  std::string text_;
};

class LoadsText {
 public:
  LoadsText(const Profile& profile, const Loads& loads) : profile_(profile), loads_(loads) {}

  std::string text() {
    table();
    for (std::size_t point = 0; point < profile_.points.size(); ++point) write(point);
    if (profile_.loads.size() > 1) changes();
    return std::move(text_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  void write(const std::vector<std::string>& cells) {
    add("{:<8}{:<26}{:>10}{:>6}", cells[0], cells[1], cells[2], cells[3]);
    for (std::size_t i = 4; i < cells.size(); ++i) add("  {}", cells[i]);
    add("\n");
  }

  void table() {
    for (const AtLoad& at : loads_.loads) {
      const Row row = load_row(profile_, at);
      if (&at == &loads_.loads.front()) write(headings_of(row));
      write(cells_of(row));
    }
    if (loads_.loads.size() < profile_.loads.size())
      add("{} of {} loads have no experiment that can be analyzed.\n",
          profile_.loads.size() - loads_.loads.size(), profile_.loads.size());
  }

  void write(std::size_t point) {
    const Point& of = profile_.points[point];
    const bool is_latency = of.kind == PointKind::latency;
    std::optional<std::size_t> saturated;
    bool is_known = false;
    for (const AtLoad& at : loads_.loads) {
      const auto found = std::ranges::find(at.points, point, &PointAtLoad::point);
      if (found == at.points.end()) continue;
      if (!std::exchange(is_known, true))
        add("\n{} of {} against load\n", is_latency ? "Latency in us" : "Visits per second",
            one_line(of.name, 200));
      if (found->is_saturated && !saturated) saturated = at.load;
      const auto cells = cells_of(point_row(profile_, at, *found));
      // The table of all loads has the second column.
      add("{:<8}{}", cells[0], cells[2]);
      for (std::size_t i = 3; i < cells.size(); ++i)
        add("{}{}", cells[i].empty() ? "" : "  ", cells[i]);
      add("\n");
    }
    if (is_latency || !is_known || loads_.loads.size() < 2) return;
    if (saturated)
      add("At a load of {} or more, the program is saturated: work arrives faster than the program "
          "finishes it.\n",
          load_name(profile_.loads[*saturated]));
    else
      add("The program is not known to be saturated at any of these loads.\n");
  }

  void changes() {
    if (loads_.changes.empty()) {
      add("\nNo line has enough experiments at two loads to be compared.\n");
      return;
    }
    const auto differing = std::ranges::count(loads_.changes, true, &Change::differs);
    if (differing == 0) {
      add("\nNo line is known to matter more at one load than at another; {} were compared, each "
          "line "
          "at each point.\n",
          loads_.changes.size());
      return;
    }
    add("\nLines that matter more or less with load: the gain if they took no time, fitted by a "
        "straight line\n");
    for (const Change& each : loads_.changes) {
      if (!each.differs) continue;
      add("{}, {} {} (p {})\n", short_line(profile_.lines[each.line]),
          profile_.points[each.point].kind == PointKind::latency ? "latency" : "point",
          one_line(profile_.points[each.point].name, 200), p_text(each.adjusted_p));
      for (std::size_t i = 0; i < each.loads.size(); ++i)
        add("  {:<8}{}\n", load_name(profile_.loads[each.loads[i]]), causal_gain(each.slopes[i]));
    }
  }

  const Profile& profile_;
  const Loads& loads_;
  std::string text_;
};

}  // namespace

Row gain_row(const Gain& gain) {
  return {json_only("value", gain.value), json_only("low", gain.interval.low),
          json_only("high", gain.interval.high)};
}

Row line_row(const Profile& profile, const Line& line) {
  const std::string name = line.line < profile.lines.size() ? profile.lines[line.line] : "";
  const bool is_known = line.finding != Finding::too_few;
  Row row{column("line", name, "line", short_line(name)).left(),
          json_only("finding", finding_word(line.finding)),
          column("samples", line.samples, "samples", fmt::format("{}", line.samples)),
          json_only("baselines", line.baselines),
          json_only("sped_up", line.sped_up),
          json_only("dropped", line.dropped),
          json_only("runs", line.runs),
          json_only("visits", line.visits),
          json_only("phase", line.phase)};
  row.push_back(is_known ? json_only("", {}) : json_only("too_few", line.too_few));
  std::vector<Row> steps;
  for (const Step& step : line.steps) steps.push_back(step_row(step));
  Row known{column("at_quarter", gain_row(line.at_quarter), "if it took 25 % less",
                   is_known ? causal_gain(line.at_quarter) : "-"),
            json_only("is_quarter_of_slope", line.is_quarter_of_slope),
            json_only("half_after_hour", line.half_after_hour),
            json_only("slope", gain_row(line.slope)),
            json_only("p", line.p),
            shown_only("finding",
                       is_known ? finding_word(line.finding) : "too few to say: " + line.too_few)
                .left(),
            column("adjusted_p", line.adjusted_p, "p", is_known ? p_text(line.adjusted_p) : "-"),
            shown_only("+1 hour", is_known ? "+-" + causal_percent(line.half_after_hour) : "-"),
            steps.empty() ? json_only("", {}) : json_only("steps", std::move(steps))};
  for (Field& each : known)
    row.push_back(is_known ? std::move(each) : without_key(std::move(each)));
  return row;
}

Row load_row(const Profile& profile, const AtLoad& at) {
  const stats::causal::Load& load = profile.loads[at.load];
  std::vector<Row> points;
  for (const PointAtLoad& point : at.points) points.push_back(point_row(profile, at, point));
  return {column("asked", asked(load), "load", load_name(load)).left(),
          json_only("speedup_ns", load.speedup_ns),
          json_only("runs", at.analysis.runs),
          measured_field("had", "had", at.had),
          shown_only("a visit", duration_of(load)),
          shown_only("runs", fmt::format("{}", at.analysis.runs)),
          measured_field("arrivals", "arrivals per second", at.arrivals),
          json_only("points", std::move(points))};
}

Row point_row(const Profile& profile, const AtLoad& at, const PointAtLoad& point) {
  const Point& of = profile.points[point.point];
  const bool is_latency = of.kind == PointKind::latency;
  Row row{shown_only("load", load_name(profile.loads[at.load])).left(),
          shown_only("had", at.had ? measured_words(*at.had) : "unknown"),
          json_only("name", of.name), json_only("kind", kind_of(of))};
  Row numbers = measured_row(point.measured);
  numbers.resize(3, json_only("", {}));  // S1
  numbers.front().heading = is_latency ? "latency, us" : "visits per second";
  numbers.front().text = measured_words(point.measured, is_latency ? 1000 : 1);
  for (Field& each : numbers) row.push_back(std::move(each));
  if (is_latency) {
    row.push_back(json_only("steady", point.is_steady));
  } else {
    row.push_back(json_only("per_arrival", point.per_arrival));
    row.push_back(json_only("saturated", point.is_saturated));
  }
  row.push_back(
      shown_only("remark", point.is_steady
                               ? ""
                               : "arrivals and departures differ too much for Little's law to hold")
          .left()
          .rare());
  return row;
}

Row change_row(const Profile& profile, const Change& change) {
  const Point& of = profile.points[change.point];
  std::vector<Row> slopes;
  for (std::size_t i = 0; i < change.loads.size(); ++i) {
    const stats::causal::Load& load = profile.loads[change.loads[i]];
    slopes.push_back({json_only("load", asked(load)), json_only("speedup_ns", load.speedup_ns)});
    for (Field& each : gain_row(change.slopes[i])) slopes.back().push_back(std::move(each));
  }
  Row row{json_only("point", of.name),
          json_only("kind", kind_of(of)),
          json_only("line", profile.lines[change.line]),
          json_only("differs", change.differs),
          json_only("p", change.p),
          json_only("adjusted_p", change.adjusted_p)};
  if (!slopes.empty()) row.push_back(json_only("slopes", std::move(slopes)));
  return row;
}

std::string causal_text(const Profile& profile, const stats::causal::Analysis& analysis,
                        double alpha) {
  return ProfileText(profile, analysis, alpha).text();
}

std::string loads_text(const Profile& profile, const Loads& loads) {
  return LoadsText(profile, loads).text();
}

// The profiles of a causal plan, as 'stabctl causal' shows them.
std::string causal_section(const Document& document, const TextOptions& options) {
  std::string text;
  if (!document.causal) return text;
  for (const CausalCell& cell : *document.causal) {
    text +=
        styled("Causal profile of " + one_line(cell.name, longest), Style::bold, options.colour) +
        "\n";
    text += cell.analysis ? causal_text(cell.profile, *cell.analysis, document.analysis.spec.alpha)
                          : paragraph("  ", one_line(cell.reason, longest), options.width);
    text += "\n";
  }
  for (const CausalLoads& each : document.causal_loads) {
    text +=
        styled("Load against " + one_line(each.name, longest), Style::bold, options.colour) + "\n";
    text += each.loads ? loads_text(each.profile, *each.loads)
                       : paragraph("  ", one_line(each.reason, longest), options.width);
    text += "\n";
  }
  return text;
}

}  // namespace stab::report
