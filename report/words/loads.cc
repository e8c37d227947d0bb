// SPDX-License-Identifier: MIT
#include "stabd/client/causal/load_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/duration.h"
#include "base/text.h"
#include "report/json_causal.h"
#include "report/words/causal.h"
#include "report/words/quantity.h"

namespace stab::client::causal {
namespace {

using nlohmann::ordered_json;
using stats::causal::AtLoad;
using stats::causal::Change;
using stats::causal::Loads;
using stats::causal::Measured;
using stats::causal::Point;
using stats::causal::PointAtLoad;
using stats::causal::PointKind;
using stats::causal::Profile;

const PointAtLoad* at_point(const AtLoad& at, std::size_t point) {
  const auto found = std::ranges::find(at.points, point, &PointAtLoad::point);
  return found == at.points.end() ? nullptr : &*found;
}

// "250.1 [249.0, 251.2]"; without an interval the number alone.
std::string words_of(const Measured& measured, double unit = 1) {
  if (!measured.interval) return fmt::format("{:.4g}", measured.value / unit);
  return fmt::format("{:.4g} [{:.4g}, {:.4g}]", measured.value / unit,
                     measured.interval->low / unit, measured.interval->high / unit);
}

class Text {
 public:
  Text(const Profile& profile, const Loads& loads, double alpha)
      : profile_(profile), loads_(loads), alpha_(alpha) {}

  std::string text() {
    table();
    for (std::size_t point = 0; point < profile_.points.size(); ++point) write(point);
    if (profile_.loads.size() > 1) changes();
    for (const AtLoad& at : loads_.loads)
      add("\nAt a load of {}x\n\n{}", asked(at.load),
          report::causal_text(profile_, at.analysis, alpha_));
    return std::move(text_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
  }

  [[nodiscard]] double asked(std::size_t load) const { return profile_.loads[load].asked; }
  [[nodiscard]] std::string name(std::size_t load) const { return fmt::format("{}x", asked(load)); }

  void table() {
    add("{:<8}{:<26}{:>10}{:>6}  {}\n", "load", "had", "a visit", "runs", "arrivals a second");
    for (const AtLoad& at : loads_.loads)
      add("{:<8}{:<26}{:>10}{:>6}  {}\n", name(at.load), at.had ? words_of(*at.had) : "unknown",
          format_duration(std::chrono::nanoseconds(profile_.loads[at.load].speedup_ns)),
          at.analysis.runs, at.arrivals ? words_of(*at.arrivals) : "unknown");
    if (loads_.loads.size() < profile_.loads.size())
      add("{} of {} loads have no experiment to be analysed.\n",
          profile_.loads.size() - loads_.loads.size(), profile_.loads.size());
  }

  void write(std::size_t point) {
    const Point& of = profile_.points[point];
    const bool is_latency = of.kind == PointKind::latency;
    std::optional<std::size_t> saturated;
    bool is_known = false;
    for (const AtLoad& at : loads_.loads) {
      const PointAtLoad* found = at_point(at, point);
      if (found == nullptr) continue;
      if (!std::exchange(is_known, true))
        add("\n{} of {} against load\n", is_latency ? "Latency in us" : "Visits a second",
            one_line(of.name, 200));
      if (found->is_saturated && !saturated) saturated = at.load;
      add("{:<8}{}{}\n", name(at.load), words_of(found->measured, is_latency ? 1000 : 1),
          found->is_steady ? "" : "  arrivals outrun departures, or the reverse: it does not hold");
    }
    if (is_latency || !is_known || loads_.loads.size() < 2) return;
    if (saturated)
      add("It is saturated from a load of {}x on: its visits do not follow arrivals.\n",
          asked(*saturated));
    else
      add("At none of these loads is it known to be saturated.\n");
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
    add("\nLines that matter more or less with load: what 100 % less of them would give, by a "
        "straight "
        "line\n");
    for (const Change& each : loads_.changes) {
      if (!each.differs) continue;
      add("{}, {} {} (p {})\n", report::short_line(profile_.lines[each.line]),
          profile_.points[each.point].kind == PointKind::latency ? "latency" : "point",
          one_line(profile_.points[each.point].name, 200), report::p_text(each.adjusted_p));
      for (std::size_t i = 0; i < each.loads.size(); ++i)
        add("  {:<8}{}\n", name(each.loads[i]), report::causal_gain(each.slopes[i]));
    }
  }

  const Profile& profile_;
  const Loads& loads_;
  double alpha_;
  std::string text_;
};

ordered_json object_of(const Measured& measured) {
  ordered_json made{{"value", measured.value}};
  if (!measured.interval) return made;
  made["low"] = measured.interval->low;
  made["high"] = measured.interval->high;
  return made;
}

ordered_json object_of(const Profile& profile, const AtLoad& at) {
  const stats::causal::Load& load = profile.loads[at.load];
  ordered_json made{
      {"asked", load.asked}, {"speedup_ns", load.speedup_ns}, {"runs", at.analysis.runs}};
  if (at.had) made["had"] = object_of(*at.had);
  if (at.arrivals) made["arrivals"] = object_of(*at.arrivals);
  made["points"] = ordered_json::array();
  for (const PointAtLoad& point : at.points) {
    const Point& of = profile.points[point.point];
    const bool is_latency = of.kind == PointKind::latency;
    ordered_json each{{"name", of.name}, {"kind", is_latency ? "latency" : "throughput"}};
    each.update(object_of(point.measured));
    if (is_latency) {
      each["steady"] = point.is_steady;
    } else {
      each["per_arrival"] = point.per_arrival;
      each["saturated"] = point.is_saturated;
    }
    made["points"].push_back(std::move(each));
  }
  return made;
}

ordered_json object_of(const Profile& profile, const Change& change) {
  const Point& of = profile.points[change.point];
  ordered_json made{{"point", of.name},
                    {"kind", of.kind == PointKind::latency ? "latency" : "throughput"},
                    {"line", profile.lines[change.line]},
                    {"differs", change.differs},
                    {"p", change.p},
                    {"adjusted_p", change.adjusted_p}};
  for (std::size_t i = 0; i < change.loads.size(); ++i) {
    ordered_json each{{"load", profile.loads[change.loads[i]].asked}};
    each.update(report::causal_gain_json(change.slopes[i]));
    made["slopes"].push_back(std::move(each));
  }
  return made;
}

// The numbers of all loads together, and the points of each with its load.
ordered_json all_of(const Profile& profile, const Loads& loads, double alpha) {
  ordered_json made;
  for (const AtLoad& at : loads.loads) {
    ordered_json one = report::causal_json(profile, at.analysis, alpha);
    for (ordered_json& point : one["points"]) point["load"] = profile.loads[at.load].asked;
    if (made.is_null()) {
      made = std::move(one);
      continue;
    }
    for (const char* sum : {"runs", "experiments"})
      made[sum] = made[sum].get<std::size_t>() + one[sum].get<std::size_t>();
    made["hours"] = made["hours"].get<double>() + one["hours"].get<double>();
    for (const char* both : {"runs_are_clusters", "end_to_end", "phase_known"})
      made[both] = made[both].get<bool>() && one[both].get<bool>();
    for (ordered_json& point : one["points"]) made["points"].push_back(std::move(point));
  }
  return made;
}

}  // namespace

std::string loads_as_text(const Profile& profile, const Loads& loads, double alpha) {
  return Text(profile, loads, alpha).text();
}

std::string loads_as_json(const Profile& profile, const Loads& loads, double alpha) {
  ordered_json made = all_of(profile, loads, alpha);
  made["loads"] = ordered_json::array();
  for (const AtLoad& at : loads.loads) made["loads"].push_back(object_of(profile, at));
  if (profile.loads.size() > 1) {
    made["changes"] = ordered_json::array();
    for (const Change& each : loads.changes) made["changes"].push_back(object_of(profile, each));
  }
  return made.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace stab::client::causal
