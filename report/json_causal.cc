// SPDX-License-Identifier: MIT
#include "report/json_causal.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "report/json_analysis.h"
#include "report/sections/causal.h"

namespace stab::report {
using nlohmann::ordered_json;
using stats::causal::Analysis;
using stats::causal::Gain;
using stats::causal::Line;
using stats::causal::Point;
using stats::causal::PointKind;
using stats::causal::PointResult;
using stats::causal::Profile;

ordered_json causal_gain_json(const Gain& gain) {
  return row_json(gain_row(gain));
}

ordered_json causal_json(const Profile& profile, const Analysis& analysis, double alpha) {
  ordered_json made{{"alpha", alpha},
                    {"runs", analysis.runs},
                    {"experiments", analysis.experiments},
                    {"left_out", profile.left_out},
                    {"hours", analysis.hours},
                    {"runs_are_clusters", analysis.runs_are_clusters},
                    {"end_to_end", analysis.is_end_to_end},
                    {"phase_known", analysis.is_phase_known},
                    {"points", ordered_json::array()}};
  for (const PointResult& point : analysis.points) {
    const Point& named = profile.points[point.point];
    const bool is_latency = named.kind == PointKind::latency;
    ordered_json each{{"name", named.name},
                      {"kind", is_latency ? "latency" : "throughput"},
                      {"visits", point.visits}};
    if (is_latency) {
      each["departures"] = point.departures;
      each["steady"] = point.is_steady;
    }
    if (point.base) each["base_ns"] = *point.base;
    each["lines"] = ordered_json::array();
    for (const Line& line : point.lines) each["lines"].push_back(row_json(line_row(profile, line)));
    made["points"].push_back(std::move(each));
  }
  return made;
}

}  // namespace stab::report
