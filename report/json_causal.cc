// SPDX-License-Identifier: MIT
#include "report/json_causal.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "report/words/causal.h"

namespace stab::report {
using nlohmann::ordered_json;
using stats::causal::Analysis;
using stats::causal::Finding;
using stats::causal::Gain;
using stats::causal::Line;
using stats::causal::Point;
using stats::causal::PointKind;
using stats::causal::PointResult;
using stats::causal::Profile;
using stats::causal::Step;

ordered_json causal_gain_json(const Gain& gain) {
  return {{"value", gain.value}, {"low", gain.interval.low}, {"high", gain.interval.high}};
}

namespace {

ordered_json line_object(const Profile& profile, const Line& line) {
  ordered_json made{{"line", profile.lines[line.line]},
                    {"finding", finding_word(line.finding)},
                    {"samples", line.samples},
                    {"baselines", line.baselines},
                    {"sped_up", line.sped_up},
                    {"dropped", line.dropped},
                    {"runs", line.runs},
                    {"visits", line.visits},
                    {"phase", line.phase}};
  if (line.finding == Finding::too_few) {
    made["too_few"] = line.too_few;
    return made;
  }
  made["at_quarter"] = causal_gain_json(line.at_quarter);
  made["is_quarter_of_slope"] = line.is_quarter_of_slope;
  made["half_after_hour"] = line.half_after_hour;
  made["slope"] = causal_gain_json(line.slope);
  made["p"] = line.p;
  made["adjusted_p"] = line.adjusted_p;
  for (const Step& step : line.steps) {
    ordered_json each{{"speedup", step.speedup}};
    each.update(causal_gain_json(step.gain));
    each["experiments"] = step.experiments;
    each["visits"] = step.visits;
    each["near"] = causal_gain_json(step.near);
    made["steps"].push_back(std::move(each));
  }
  return made;
}

}  // namespace

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
    for (const Line& line : point.lines) each["lines"].push_back(line_object(profile, line));
    made["points"].push_back(std::move(each));
  }
  return made;
}

}  // namespace stab::report
