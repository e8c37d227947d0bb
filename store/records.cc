// SPDX-License-Identifier: MIT
#include "store/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "base/text.h"
#include "plan/texts.h"

namespace stab::store {
namespace {

template <class Status>
using Named = std::pair<Status, std::string_view>;

// These names are stored in databases and must never change.
constexpr std::array<Named<BuildStatus>, 3> build_names{{{BuildStatus::built, "built"},
                                                         {BuildStatus::cached, "cached"},
                                                         {BuildStatus::failed, "failed"}}};
constexpr std::array<Named<TrialStatus>, 13> trial_names{
    {{TrialStatus::ok, "ok"},
     {TrialStatus::wrong_exit, "wrong_exit"},
     {TrialStatus::signalled, "signalled"},
     {TrialStatus::timeout, "timeout"},
     {TrialStatus::output_limit, "output_limit"},
     {TrialStatus::over_limit, "over_limit"},
     {TrialStatus::check_failed, "check_failed"},
     {TrialStatus::not_started, "not_started"},
     {TrialStatus::build_failed, "build_failed"},
     {TrialStatus::skipped, "skipped"},
     {TrialStatus::not_randomized, "not_randomized"},
     {TrialStatus::not_measured, "not_measured"},
     {TrialStatus::disturbed, "disturbed"}}};

constexpr std::array<Named<StopCause>, 2> cause_names{
    {{StopCause::time, "time"}, {StopCause::rule, "rule"}}};

constexpr std::array<Named<Quietness>, 3> quietness_names{
    {{Quietness::good, "good"}, {Quietness::fair, "fair"}, {Quietness::poor, "poor"}}};

constexpr std::array<Named<CalibrationScope>, 3> scope_names{
    {{CalibrationScope::benchmark, "benchmark"},
     {CalibrationScope::any, "any"},
     {CalibrationScope::suite, "suite"}}};

template <class Status>
std::string_view name_of(std::span<const Named<Status>> names, Status status) {
  for (const auto& [value, name] : names)
    if (value == status) return name;
  return "unknown";
}

template <class Status>
std::optional<Status> named(std::span<const Named<Status>> names, std::string_view text) {
  for (const auto& [value, name] : names)
    if (name == text) return value;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(BuildStatus status) {
  return name_of<BuildStatus>(build_names, status);
}
namespace {

// The trial's CPU time, divided by that of the command beside it.
counters::Reading cpu_beside(const Trial& trial) {
  const auto none = [](std::string why) {
    return counters::absent(std::string(counters::relative_cpu), "", std::move(why));
  };
  const auto beside =
      std::ranges::find(trial.readings, counters::beside_cpu, &counters::Reading::name);
  if (beside == trial.readings.end()) return none("no command ran beside the trial");
  const auto* ns = std::get_if<std::int64_t>(&beside->value);
  if (beside->status == counters::Status::absent || ns == nullptr || *ns <= 0)
    return none("the command beside the trial " +
                (beside->reason.empty() ? "took no CPU time" : beside->reason));
  if (!trial.user_ns || !trial.system_ns) return none("it was not measured");
  const auto own = static_cast<double>(*trial.user_ns + *trial.system_ns);
  return counters::counted(std::string(counters::relative_cpu), "", own / static_cast<double>(*ns));
}

}  // namespace

std::optional<counters::Reading> number_of(const Trial& trial, std::string_view name) {
  const auto own = [&](std::string_view unit, std::optional<std::int64_t> value) {
    return value ? counters::counted(std::string(name), std::string(unit), *value)
                 : counters::absent(std::string(name), std::string(unit), "it was not measured");
  };
  if (name == "wall") return own("ns", trial.wall_ns);
  if (name == "user") return own("ns", trial.user_ns);
  if (name == "system") return own("ns", trial.system_ns);
  if (name == "cpu") {
    const bool both = trial.user_ns && trial.system_ns;
    return own("ns", both ? std::optional(*trial.user_ns + *trial.system_ns) : std::nullopt);
  }
  if (name == "main_to_exit") return own("ns", trial.layout.main_to_exit_ns);
  if (name == "region") return own("ns", trial.layout.region_ns);
  if (name == "max_rss") return own("bytes", trial.max_rss_bytes);
  if (name == counters::relative_cpu) return cpu_beside(trial);
  const auto reading = std::ranges::find(trial.readings, name, &counters::Reading::name);
  return reading == trial.readings.end() ? std::nullopt : std::optional(*reading);
}

std::size_t bytes_of(const Trial& trial) {
  constexpr std::size_t of_numbers = 40;  // a reading's value and quotes
  std::size_t bytes = trial.benchmark.size() + trial.build.size() + trial.reason.size() +
                      trial.stdout_sha256.size() + trial.stderr_tail.size() +
                      trial.layout.kind.size() + trial.layout.note.size();
  for (const auto& [factor, level] : trial.levels) bytes += factor.size() + level.size();
  for (const counters::Reading& each : trial.readings)
    bytes += each.name.size() + each.unit.size() + each.reason.size() + of_numbers;
  for (const counters::Samples& each : trial.samples) bytes += counters::bytes_of(each);
  return bytes + counters::bytes_of(trial.profile) + trial.causal.size();
}
std::size_t bytes_of(const Build& build) {
  return build.benchmark.size() + build.key.size() + build.command.size() +
         build.binary_sha256.size() + build.output.size();
}
std::size_t bytes_of(const Event& event) {
  return event.kind.size() + event.text.size();
}

std::string reason_of_failed_build(std::string_view error) {
  return fmt::format("the build failed{}{}", error.empty() ? "" : ": ", error);
}
std::optional<BuildStatus> build_status(std::string_view text) {
  return named<BuildStatus>(build_names, text);
}
std::string_view to_string(StopCause cause) {
  return name_of<StopCause>(cause_names, cause);
}
bool is_cpu_list(std::string_view text) {
  return text.size() <= 4096 && text.find_first_not_of("0123456789,-") == std::string_view::npos;
}
bool is_source(std::string_view branch, std::string_view commit) {
  constexpr std::size_t most = 4096;
  return plan::is_commit(commit) && branch.size() <= most &&
         one_line(branch, branch.size()) == branch;
}
bool is_possible(const Node& node) {
  return plan::is_node(node.name) && is_cpu_list(node.trial_cpus) &&
         (!node.times || (std::isfinite(*node.times) && *node.times > 0)) &&
         one_line(node.hardware, node.hardware.size()) == node.hardware;
}

std::optional<StopCause> stop_cause(std::string_view text) {
  return named<StopCause>(cause_names, text);
}
std::string_view to_string(Quietness quietness) {
  return name_of<Quietness>(quietness_names, quietness);
}
std::optional<Quietness> quietness_named(std::string_view text) {
  return named<Quietness>(quietness_names, text);
}
std::string_view to_string(TrialStatus status) {
  return name_of<TrialStatus>(trial_names, status);
}
std::optional<TrialStatus> trial_status(std::string_view text) {
  return named<TrialStatus>(trial_names, text);
}
std::string_view to_string(CalibrationScope scope) {
  return name_of<CalibrationScope>(scope_names, scope);
}
std::optional<CalibrationScope> calibration_scope(std::string_view text) {
  return named<CalibrationScope>(scope_names, text);
}

}  // namespace stab::store
