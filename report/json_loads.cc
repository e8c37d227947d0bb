// SPDX-License-Identifier: MIT
#include "report/json_loads.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "report/json_causal.h"

namespace stab::report {
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
      {"asked", asked_json(load)}, {"speedup_ns", load.speedup_ns}, {"runs", at.analysis.runs}};
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
    ordered_json each{{"load", asked_json(profile.loads[change.loads[i]])},
                      {"speedup_ns", profile.loads[change.loads[i]].speedup_ns}};
    each.update(causal_gain_json(change.slopes[i]));
    made["slopes"].push_back(std::move(each));
  }
  return made;
}

}  // namespace

ordered_json asked_json(const stats::causal::Load& load) {
  return load.asked > 0 ? ordered_json(load.asked) : ordered_json();
}

ordered_json loads_json(const Profile& profile, const Loads& loads) {
  ordered_json made{{"loads", ordered_json::array()}};
  for (const AtLoad& at : loads.loads) made["loads"].push_back(object_of(profile, at));
  if (profile.loads.size() < 2) return made;
  made["changes"] = ordered_json::array();
  for (const Change& each : loads.changes) made["changes"].push_back(object_of(profile, each));
  return made;
}

}  // namespace stab::report
