// SPDX-License-Identifier: MIT
#include "cluster/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <initializer_list>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "cluster/slurm.h"

namespace stab::cluster {
namespace {

using machine::Finding;
using machine::Grade;
using Settings = std::map<std::string, std::string, std::less<>>;

constexpr std::size_t longest = 200;  // characters of a value that are shown

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (const auto part : std::views::split(text, separator))
    parts.emplace_back(part.begin(), part.end());
  return parts;
}

std::string value_of(const Settings& settings, std::string_view name) {
  const auto found = settings.find(name);
  return found == settings.end() ? "not known" : one_line(found->second, longest);
}

// Lines of the form "HealthCheckInterval     = 60 sec".
Settings settings_in(std::string_view config) {
  Settings settings;
  for (const std::string_view line : parts_of(config, '\n'))
    if (const std::size_t middle = line.find(" = "); middle != std::string_view::npos)
      settings.try_emplace(std::string(trimmed(line.substr(0, middle))),
                           trimmed(line.substr(middle + 3)));
  return settings;
}

// Words of the form "CPUTot=8". A value may have blanks, so words without "=" belong to it. People
// write the reason and the comment at the end, which may have any words.
Settings node_in(std::string_view line) {
  Settings node;
  constexpr std::array<std::string_view, 3> free{"Reason", "Comment", "Extra"};
  for (std::size_t round = 0; round < free.size(); ++round) {
    std::size_t last_at = 0;
    std::string_view last_name;
    for (const std::string_view name : free)
      if (const std::size_t at = line.find(fmt::format(" {}=", name));
          at != std::string_view::npos && at > last_at) {
        last_at = at;
        last_name = name;
      }
    if (last_name.empty()) break;
    node.try_emplace(std::string(last_name), trimmed(line.substr(last_at + last_name.size() + 2)));
    line = line.substr(0, last_at);
  }
  std::string* last = nullptr;
  for (const std::string_view word : parts_of(line, ' ')) {
    if (const std::size_t middle = word.find('='); middle != std::string_view::npos) {
      const auto [entry, is_new] =
          node.try_emplace(std::string(word.substr(0, middle)), word.substr(middle + 1));
      last = is_new ? &entry->second : nullptr;
    } else if (last != nullptr && !word.empty())
      *last += fmt::format(" {}", word);
  }
  return node;
}

std::vector<Settings> nodes_in(std::string_view nodes) {
  std::vector<Settings> all;
  for (const std::string_view line : parts_of(nodes, '\n'))
    if (Settings node = node_in(line); node.contains("NodeName")) all.push_back(std::move(node));
  return all;
}

// "IDLE+DRAIN (the disk is full)".
std::string state_of(const Settings& node) {
  return value_of(node, "State") +
         (node.contains("Reason") ? fmt::format(" ({})", value_of(node, "Reason")) : "");
}

bool is_none(std::string_view value) {
  return value.empty() || value == "(null)" || value.ends_with("/none");
}

// "0", "0 sec"; not "not known".
bool is_zero(std::string_view value) {
  int number = 1;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  return error == std::errc() && number == 0 && (end == value.data() + value.size() || *end == ' ');
}

// "30", or "task=30,energy=60": the interval for tasks.
std::string interval_of_tasks(std::string_view frequency) {
  for (const std::string_view part : parts_of(frequency, ','))
    if (part.starts_with("task=")) return std::string(part.substr(5));
  return frequency.contains('=') ? "0" : std::string(frequency);
}

Finding good(const char* name, std::string found) {
  return {.name = name, .grade = Grade::good, .found = std::move(found), .meaning = {}, .mend = {}};
}

Finding samples(const Settings& settings) {
  const std::string type = value_of(settings, "JobAcctGatherType");
  const std::string interval = interval_of_tasks(value_of(settings, "JobAcctGatherFrequency"));
  if (is_none(type) || is_zero(interval))
    return good("samples", "Slurm takes no samples while steps run");
  return {.name = "samples",
          .grade = Grade::fair,
          .found = fmt::format("Slurm samples the processes of each step ({}, interval: {} s)",
                               type, interval),
          .meaning = "a thread on the node reads /proc while trials run",
          .mend = "slurm.conf: JobAcctGatherFrequency=0"};
}

Finding energy(const Settings& settings) {
  const std::string type = value_of(settings, "AcctGatherEnergyType");
  const std::string interval = value_of(settings, "AcctGatherNodeFreq");
  if (is_none(type) || is_zero(interval))
    return good("energy", "Slurm does not read the energy counters");
  return {
      .name = "energy",
      .grade = Grade::fair,
      .found = fmt::format("slurmd reads the energy counters ({}, interval: {})", type, interval),
      .meaning = "slurmd wakes up while trials run",
      .mend = "slurm.conf: AcctGatherNodeFreq=0"};
}

Finding health_checks(const Settings& settings) {
  const std::string program = value_of(settings, "HealthCheckProgram");
  const std::string interval = value_of(settings, "HealthCheckInterval");
  const std::string states = value_of(settings, "HealthCheckNodeState");
  if (is_none(program) || is_zero(interval)) return good("health checks", "none");
  std::set<std::string_view> busy;
  for (const std::string_view state : parts_of(states, ','))
    if (state != "IDLE" && state != "CYCLE") busy.insert(state);
  if (busy.empty()) return good("health checks", program + " runs on idle nodes only");
  return {.name = "health checks",
          .grade = Grade::poor,
          .found = fmt::format("Slurm runs {} on nodes in the states {} (interval: {})", program,
                               states, interval),
          .meaning = states.contains("CYCLE")
                         ? "the health check runs beside trials"
                         : "the health check runs beside trials, on all nodes at once",
          .mend = "slurm.conf: HealthCheckNodeState=IDLE"};
}

// packaging/slurm/quiet-node has this name.
bool is_quiet_node(std::string_view program) {
  return program.ends_with("/quiet-node");
}

Finding epilogs(const Settings& settings) {
  std::vector<std::string> lines;
  for (const char* name : {"Prolog", "Epilog", "TaskProlog", "TaskEpilog"}) {
    // There may be several, as "Prolog[0]".
    for (const auto& [each, value] : settings)
      if ((each == name || each.starts_with(fmt::format("{}[", name))) && !is_none(value) &&
          !is_quiet_node(value))
        lines.push_back(fmt::format("{}={}", name, one_line(value, longest)));
  }
  if (lines.empty()) return good("epilogs", "none, or only stabd's program quiet-node");
  return {.name = "epilogs",
          .grade = Grade::fair,
          .found = fmt::format(
              "{}: Slurm runs these programs before or after an experiment, not between trials",
              fmt::join(lines, ", ")),
          .meaning = "processes that these programs leave behind run beside trials",
          .mend = fmt::format("slurm.conf: leave out {}, or make sure that these programs leave no "
                              "processes behind",
                              fmt::join(lines, " and "))};
}

Finding quiet_nodes(const Settings& settings) {
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(settings, [&](const auto& setting) {
      return (setting.first == name || setting.first.starts_with(fmt::format("{}[", name))) &&
             is_quiet_node(setting.second);
    });
  };
  return good("quiet nodes",
              has("Prolog") && has("Epilog")
                  ? "a plan with machine.quiesce makes its nodes quiet"
                  : "a plan with machine.quiesce does not make its nodes quiet, because Slurm "
                    "does not run stabd's program quiet-node as Prolog and Epilog");
}

Finding processes(const Settings& settings) {
  const std::string type = value_of(settings, "ProctrackType");
  if (type == "proctrack/cgroup") return good("processes", "Slurm ends all processes of a job");
  return {.name = "processes",
          .grade = Grade::fair,
          .found = fmt::format("Slurm uses {} to find the processes of a job", type),
          .meaning = "processes of an earlier job may run beside trials",
          .mend = "slurm.conf: ProctrackType=proctrack/cgroup"};
}

Finding reserved_cores(const Settings& settings, const std::vector<Settings>& nodes) {
  std::vector<std::string> without;
  for (const Settings& node : nodes)
    if (!node.contains("CPUSpecList") &&
        (!node.contains("CoreSpecCount") || is_zero(value_of(node, "CoreSpecCount"))))
      without.push_back(value_of(node, "NodeName"));
  if (!nodes.empty() && without.empty())
    return good("reserved cores", "each node keeps a core for Slurm's own processes");
  const bool may_ask = value_of(settings, "AllowSpecResourcesUsage") == "Yes";
  return {.name = "reserved cores",
          .grade = Grade::fair,
          .found = fmt::format("none on {}{}", fmt::join(without, ", "),
                               may_ask ? ""
                                       : ", and a job's --core-spec is ignored "
                                         "(AllowSpecResourcesUsage)"),
          .meaning = "slurmd and its step processes share the CPUs of trials",
          .mend = fmt::format(
              "slurm.conf: CoreSpecCount=1 in the line of each node, and "
              "TaskPluginParam=SlurmdOffSpec{}",
              may_ask ? "" : "; AllowSpecResourcesUsage=YES if jobs may ask for --core-spec")};
}

bool is_there(std::string_view state) {
  const std::initializer_list<std::string_view> states{"IDLE", "ALLOCATED", "MIXED", "COMPLETING"};
  return std::ranges::find(states, parts_of(state, '+').front()) != states.end() &&
         !state.contains("DRAIN") && !state.contains("NOT_RESPONDING");
}

Finding presence(const std::vector<Settings>& nodes) {
  constexpr std::size_t shown = 20;
  std::vector<std::string> away;
  for (const Settings& node : nodes)
    if (!is_there(value_of(node, "State")))
      away.push_back(fmt::format("{} is {}", value_of(node, "NodeName"), state_of(node)));
  const std::string count = fmt::format("{} node{}", nodes.size(), nodes.size() == 1 ? "" : "s");
  if (nodes.empty())
    return {.name = "nodes",
            .grade = Grade::poor,
            .found = "none",
            .meaning = "Slurm has no node on which trials could run",
            .mend = "slurm.conf: NodeName=..."};
  if (away.empty()) return good("nodes", count);
  const std::size_t all = away.size();
  away.resize(std::min(all, shown));
  return {.name = "nodes",
          .grade = all == nodes.size() ? Grade::poor : Grade::fair,
          .found = fmt::format("{}; {}{}", count, fmt::join(away, ", "),
                               all > shown ? fmt::format(" and {} more", all - shown) : ""),
          .meaning = "Slurm runs no jobs on these nodes",
          .mend = "fix the cause, then run: scontrol update nodename=NODE state=resume"};
}

// Nodes that are away say nothing about themselves.
Finding kinds(const std::vector<Settings>& nodes) {
  std::set<std::string> kinds;
  for (const Settings& node : nodes)
    if (is_there(value_of(node, "State")))
      kinds.insert(fmt::format("{} CPUs, {} threads per core, {}", value_of(node, "CPUTot"),
                               value_of(node, "ThreadsPerCore"), value_of(node, "OS")));
  if (kinds.size() == 1) return good("kinds", fmt::format("all have {}", *kinds.begin()));
  return {.name = "kinds",
          .grade = Grade::fair,
          .found = kinds.empty() ? "not known, because no node is available"
                                 : fmt::format("{}: {}", kinds.size(), fmt::join(kinds, "; ")),
          .meaning =
              "the measured change may depend on the kind of node; the report shows the change on "
              "each node",
          .mend =
              "to measure on one kind of node, name those nodes in machines.nodes, or use "
              "machines.constraint"};
}

}  // namespace

std::vector<Finding> findings_in(std::string_view config, std::string_view nodes) {
  const Settings settings = settings_in(config);
  const std::vector<Settings> each_node = nodes_in(nodes);
  return {presence(each_node), kinds(each_node),        samples(settings),
          energy(settings),    health_checks(settings), reserved_cores(settings, each_node),
          processes(settings), epilogs(settings),       quiet_nodes(settings)};
}

namespace {

// A plan may name several partitions: "a,b".
bool is_one_of(std::string_view partition, std::string_view partitions) {
  return std::ranges::count(parts_of(partitions, ','), partition) > 0;
}

}  // namespace

std::map<std::string, std::string> states_in(std::string_view nodes, std::string_view partition) {
  std::map<std::string, std::string> states;
  const auto is_wanted = [partition](std::string_view each) { return is_one_of(each, partition); };
  for (const Settings& node : nodes_in(nodes))
    if (const auto all = node.find("Partitions");
        partition.empty() ||
        (all != node.end() && std::ranges::any_of(parts_of(all->second, ','), is_wanted)))
      states[value_of(node, "NodeName")] = state_of(node);
  return states;
}

std::string default_partition_in(std::string_view partitions) {
  for (const std::string_view line : parts_of(partitions, '\n'))
    if (const Settings each = node_in(line);
        each.contains("PartitionName") && value_of(each, "Default") == "YES")
      return value_of(each, "PartitionName");
  return "";
}

std::size_t nodes_for(const std::map<std::string, std::string>& states, std::size_t least,
                      std::size_t most) {
  const auto idle = std::ranges::count_if(states, [](const auto& each) {
    const std::string_view text = each.second;  // the reason follows the state
    const std::string_view state = text.substr(0, text.find(' '));
    return is_there(state) && parts_of(state, '+').front() == "IDLE";
  });
  return std::clamp(static_cast<std::size_t>(idle), least, most);
}

std::string shortage_in(const std::map<std::string, std::string>& states, std::size_t wanted,
                        std::string_view partition) {
  const std::string where = partition.empty() ? "the cluster's default partition"
                                              : fmt::format("the partition {}", partition);
  if (states.empty())
    return fmt::format("{} has no nodes ('sinfo' shows all partitions and nodes)", where);
  const auto ready = std::ranges::count_if(states, [](const auto& each) {
    const std::string_view text = each.second;  // the reason follows the state
    return is_there(text.substr(0, text.find(' ')));
  });
  const char* plural = wanted == 1 ? "" : "s";
  if (states.size() < wanted)
    return fmt::format(
        "the plan asks for {} nodes, but {} has only {}: lower 'nodes' in [machines]", wanted,
        where, states.size());
  if (std::cmp_less(ready, wanted))
    return fmt::format(
        "the plan asks for {} node{}, but only {} of {} in {} can run jobs now ('sinfo' shows "
        "why): wait for more{}",
        wanted, plural, ready, states.size(), where,
        wanted == 1 ? "" : ", or lower 'nodes' in [machines]");
  return "";
}

std::string time_limit_in(std::string_view partitions, std::string_view partition) {
  std::vector<std::string> limits;
  for (const std::string_view line : parts_of(partitions, '\n')) {
    const Settings each = node_in(line);
    if (!each.contains("PartitionName")) continue;
    const bool is_wanted = partition.empty()
                               ? value_of(each, "Default") == "YES"
                               : is_one_of(value_of(each, "PartitionName"), partition);
    if (!is_wanted) continue;
    const auto found = each.find("DefaultTime");
    std::string limit =
        value_of(each, found == each.end() || found->second == "NONE" ? "MaxTime" : "DefaultTime");
    if (std::ranges::count(limits, limit) == 0) limits.push_back(std::move(limit));
  }
  return fmt::format("{}", fmt::join(limits, " or "));
}

namespace {

constexpr std::chrono::seconds patience{10};

Result<std::string> show_nodes() {
  return output_of({"scontrol", "--oneliner", "show", "node"}, patience);
}

Result<std::string> show_partitions() {
  return output_of({"scontrol", "--oneliner", "show", "partition"}, patience);
}

}  // namespace

Result<std::map<std::string, std::string>> all_node_states() {
  const auto nodes = show_nodes();
  if (!nodes) return std::unexpected(nodes.error());
  return states_in(*nodes);
}

Result<std::map<std::string, std::string>> node_states(std::string_view partition) {
  const auto nodes = show_nodes();
  if (!nodes) return std::unexpected(nodes.error());
  if (!partition.empty()) return states_in(*nodes, partition);
  return states_in(*nodes, default_partition_in(show_partitions().value_or("")));
}

Result<std::string> time_limit(std::string_view partition) {
  const auto partitions = show_partitions();
  if (!partitions) return std::unexpected(partitions.error());
  return time_limit_in(*partitions, partition);
}

Result<std::vector<Finding>> examine_cluster() {
  const auto config = output_of({"scontrol", "show", "config"}, patience);
  const auto nodes = config ? show_nodes() : config;
  if (!nodes)
    return fail("Slurm's settings are not known: " + nodes.error().message +
                "; is this a machine of the cluster, with the package slurm-client?");
  return findings_in(*config, *nodes);
}

}  // namespace stab::cluster
