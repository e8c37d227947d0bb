// SPDX-License-Identifier: MIT
#include "stabd/client/check/counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "counters/events/counting.h"
#include "machine/containment.h"

namespace stab::client {

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
    nothing = nothing || each.name == plan.analysis.response;
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

}  // namespace stab::client
