// SPDX-License-Identifier: MIT
#include "stabd/client/check/counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "counters/events/counting.h"
#include "machine/containment.h"
#include "plan/measures/formula.h"
#include "plan/measures/output.h"

namespace stab::client {
namespace {

std::string_view words_of(plan::Pick pick) {
  switch (pick) {
    case plan::Pick::only:
      return "the only match";
    case plan::Pick::first:
      return "the first match";
    case plan::Pick::last:
      return "the last match";
    case plan::Pick::mean:
      return "the mean of all matches";
    case plan::Pick::sum:
      return "the sum of all matches";
  }
  return "";
}

}  // namespace

Result<std::vector<counters::Reading>> lacking_counters(const plan::Plan& plan) {
  auto groups = counters::find_groups(plan.counters);
  if (!groups) return fail("'measure.counters': " + groups.error().message);
  if (!groups->empty() && !plan.privileges && !machine::give_up_privileges())
    return fail_errno("cannot give up root's rights");
  return counters::Counting(*std::move(groups)).lacking();
}

std::vector<std::string> counter_lines(const plan::Plan& plan,
                                       const std::vector<counters::Reading>& lacking) {
  std::vector<std::string> lines;
  if (plan.counters.empty()) return lines;
  std::vector<std::string> groups;
  for (const auto& group : plan.counters)
    groups.push_back(fmt::format("{}", fmt::join(group, " with ")));
  lines.push_back(fmt::format("counts: {}", fmt::join(groups, ", ")));
  bool nothing = plan.refuse_absent && !lacking.empty();
  for (const counters::Reading& each : lacking) {
    lines.push_back(fmt::format("{} cannot be counted here: {}", each.name, each.reason));
    const auto parts = plan::parts_of(plan, plan.analysis.response);
    nothing = nothing || std::ranges::find(parts, each.name) != parts.end();
  }
  if (nothing) lines.emplace_back("so that this plan would measure nothing on this machine");
  return lines;
}

nlohmann::ordered_json counters_json(const plan::Plan& plan,
                                     const std::vector<counters::Reading>& lacking) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < plan.counters.size(); ++i)
    for (const std::string& name : plan.counters[i]) {
      const auto missing = std::ranges::find(lacking, name, &counters::Reading::name);
      const bool absent = missing != lacking.end();
      list.push_back({{"name", name},
                      {"group", i + 1},
                      {"status", absent ? "absent" : "counted"},
                      {"reason", absent ? missing->reason : ""}});
    }
  return list;
}

std::vector<std::string> measure_lines(const plan::Plan& plan) {
  std::vector<std::string> lines;
  for (const plan::OtherResponse& each : plan.analysis.others)
    lines.push_back(fmt::format("compares {}, too, by verdicts of its own ({} is better)",
                                one_line(each.name, 200), each.higher_is_better ? "more" : "less"));
  for (const plan::OutputMeasure& each : plan.outputs) {
    const std::string unit = each.unit.empty() ? "" : fmt::format(" ({})", each.unit);
    const std::string how =
        each.json
            ? fmt::format("the number at '{}' in the JSON on {}", *each.json, stream_of(each))
            : fmt::format("{} of '{}' on {}", words_of(each.pick), each.regex, stream_of(each));
    const std::string where =
        each.benchmarks.empty() ? "" : fmt::format(", of {}", fmt::join(each.benchmarks, ", "));
    lines.push_back(one_line(fmt::format("reads {}{}: {}{}", each.name, unit, how, where), 1500));
  }
  for (const plan::DerivedMeasure& each : plan.derived)
    lines.push_back(one_line(fmt::format("derives {}: {}", each.name, each.formula), 1500));
  return lines;
}

nlohmann::ordered_json measures_json(const plan::Plan& plan) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const plan::OutputMeasure& each : plan.outputs)
    list.push_back({{"name", each.name},
                    {"unit", each.unit},
                    {"from", stream_of(each)},
                    {"regex", each.json ? Json(nullptr) : Json(each.regex)},
                    {"json", each.json ? Json(*each.json) : Json(nullptr)},
                    {"take", each.json ? Json(nullptr) : Json(to_string(each.pick))},
                    {"benchmarks", each.benchmarks},
                    {"formula", nullptr}});
  for (const plan::DerivedMeasure& each : plan.derived)
    list.push_back({{"name", each.name},
                    {"unit", ""},
                    {"from", nullptr},
                    {"regex", nullptr},
                    {"json", nullptr},
                    {"take", nullptr},
                    {"benchmarks", Json::array()},
                    {"formula", each.formula}});
  return list;
}

}  // namespace stab::client
