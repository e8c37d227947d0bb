// SPDX-License-Identifier: MIT
#include "plan/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/duration.h"
#include "plan/quantities.h"

namespace stab::plan {

bool is_resolved(std::string_view revision) {
  constexpr std::size_t sha1_digits = 40;
  constexpr std::size_t sha256_digits = 64;
  return revision == working_tree ||
         ((revision.size() == sha1_digits || revision.size() == sha256_digits) &&
          revision.find_first_not_of("0123456789abcdef") == std::string_view::npos);
}

bool Check::accepts(int code) const {
  return code == exit || std::ranges::find(other_exits, code) != other_exits.end();
}

std::string exits_of(const Check& check) {
  std::string text = fmt::format("{}", check.exit);
  for (const int code : check.other_exits)
    text += fmt::format("{}{}", code == check.other_exits.back() ? " or " : ", ", code);
  return text;
}

bool Factor::is_treatment() const {
  const auto* fixed = std::get_if<FixedLevels>(&levels);
  return fixed != nullptr && fixed->levels.size() >= 2;
}

bool lists_cells(DesignKind kind) {
  return kind == DesignKind::custom || kind == DesignKind::fractional;
}

bool Plan::is_split(std::string_view response) const {
  const auto output = std::ranges::find(outputs, response, &OutputMeasure::name);
  return output != outputs.end() && output->google_benchmark;
}

std::string describe(const Stop& stop) {
  if (stop.rule == StopRule::precision)
    return fmt::format(
        "by precision: when every interval extends at most {:.3g} % to either side, after {} to {} "
        "blocks",
        100 * stop.half_width, stop.min(), stop.max);
  return fmt::format(
      "sequential: when every comparison has a verdict, at {} looks after {} to {} blocks",
      stop.looks.size() + 1, stop.min(), stop.max);
}

std::string describe(const Machines& machines) {
  std::string text =
      fmt::format("{} node{} of a Slurm cluster", machines.nodes, machines.nodes == 1 ? "" : "s");
  if (!machines.names.empty()) text += fmt::format(" ({})", fmt::join(machines.names, ", "));
  for (const auto& [name, value] : {std::pair("partition", &machines.partition),
                                    {"account", &machines.account},
                                    {"qos", &machines.qos},
                                    {"constraint", &machines.constraint},
                                    {"reservation", &machines.reservation}})
    if (!value->empty()) text += fmt::format(", {} {}", name, *value);
  if (machines.time_limit)
    text += fmt::format(", at most {}", format_duration(*machines.time_limit));
  return text;
}

std::vector<std::string> counter_names(const Plan& plan) {
  std::vector<std::string> names;
  for (const auto* groups : {&plan.counters, &plan.rotated})
    for (const auto& group : *groups)
      for (const std::string& name : group)
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  return names;
}

std::string describe(const Exclusion& rule) {
  return fmt::format("{} {} {}", rule.quantity, to_string(rule.bound), rule.limit);
}

}  // namespace stab::plan
