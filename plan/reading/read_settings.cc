// SPDX-License-Identifier: MIT
// Reads [experiment], [variables], [machine], [by_default], [stated] and [analysis].
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "plan/reading/draft.h"
#include "plan/texts.h"

namespace stab::plan {

namespace {

void check_variable_names(const Table& table) {
  for (const Pair& pair : table.pairs())
    for (const std::string& own : own_variables)
      if (pair.key == own)
        table.problems().add(
            pair.at,
            fmt::format("'{}' is set by stabd itself: choose another name", table.path(pair.key)));
}

// The paper's procedure is a within-subjects analysis of raw numbers.
void use_paper(const Table& table, Draft& draft) {
  Analysis& analysis = draft.plan.analysis;
  const Pair* log = table.find("log");
  if (log != nullptr && analysis.log_scale)
    draft.problems.add(log->at,
                       "'analysis.log' must be false with method = \"stabilizer\", which compares "
                       "raw values: leave 'log' out");
  if (draft.plan.design.kind != DesignKind::within_subjects)
    draft.problems.add(table.find("method")->at,
                       "'analysis.method' \"stabilizer\" needs design.kind = \"within-subjects\"");
  analysis.stabilizer = true;
  analysis.log_scale = false;
}

}  // namespace

std::vector<std::uint32_t> whole_numbers(const Table& table, std::string_view key,
                                         std::uint32_t most) {
  const std::string words = fmt::format("a whole number from 0 to {}", most);
  std::vector<std::uint32_t> numbers;
  const Pair* pair = table.find(key);
  if (pair == nullptr) return numbers;
  const auto* items = std::get_if<Items>(&pair->value.data);
  if (items == nullptr) {
    if (std::holds_alternative<std::int64_t>(pair->value.data)) {
      if (const auto number = table.integer(key, 0, most))
        numbers.push_back(static_cast<std::uint32_t>(*number));
    } else {
      table.refuse(*pair, words + " or an array of such numbers");
    }
    return numbers;
  }
  if (items->empty() || items->size() > most + 1) {
    table.refuse(*pair, words + " or an array of such numbers, each once");
    return numbers;
  }
  for (const Value& item : *items) {
    const auto* number = std::get_if<std::int64_t>(&item.data);
    if (number == nullptr || *number < 0 || *number > most) {
      table.refuse_item(*pair, item, words);
    } else if (std::ranges::find(numbers, *number) != numbers.end()) {
      table.problems().add(item.at, fmt::format("'{}' contains {} twice: leave one of them out",
                                                table.path(key), *number));
    } else {
      numbers.push_back(static_cast<std::uint32_t>(*number));
    }
  }
  return numbers;
}

Variables variables_of(const Table& table) {
  Variables variables;
  if (table.pairs().size() > toml::max_length) {
    table.problems().add(table.at(),
                         fmt::format("'{}' has {} keys, but at most {} are allowed", table.path(),
                                     table.pairs().size(), toml::max_length));
    return variables;
  }
  for (const Pair& pair : table.pairs()) {
    if (!is_identifier(pair.key))
      table.problems().add(pair.at, fmt::format("'{}' is not a valid name for a variable: use {}",
                                                table.path(pair.key), identifier_rule));
    else if (auto value = table.text(pair.key, is_word, word_rule))
      variables[pair.key] = *std::move(value);
  }
  return variables;
}

void read_experiment(const Table& root, Draft& draft) {
  root.require("experiment", "[experiment] with a name");
  const auto table = root.table("experiment", names_below("experiment"));
  draft.plan.seed = value<"experiment.seed">(table);
  draft.plan.privileges = value<"experiment.privileges">(table);
  draft.plan.network = value<"experiment.network">(table);
  if (!table) return;
  table->require("name", title_rule);
  draft.plan.name = given<"experiment.name">(*table).value_or("");
  draft.plan.question = given<"experiment.question">(*table).value_or("");
  draft.plan.notify = given<"experiment.notify">(*table).value_or(std::vector<std::string>());
}

void read_by_default(const Table& root, Draft& draft) {
  const auto table = root.table("by_default", names_below("by_default"));
  draft.plan.pads_by_default = value<"by_default.stack">(table);
  if (table) {
    draft.nodes_chosen = given<"by_default.nodes">(*table);
    draft.nodes_chosen_at = table->at();
  }
  draft.plan.layer_by_default = table && given<"by_default.heap">(*table);
  draft.plan.analysis.cost = value<"by_default.cost">(table);
  const auto clang = value<"by_default.clang">(table);
  draft.plan.variables = {{"CC", fmt::format("clang-{}", clang)},
                          {"CXX", fmt::format("clang++-{}", clang)}};
}

void read_stated(const Table& root, Draft& draft) {
  const auto table = root.table("stated", names_below("stated"));
  if (!table) return;
  draft.plan.stated = {.compiler = given<"stated.compiler">(*table).value_or(""),
                       .beside = given<"stated.beside">(*table).value_or(""),
                       .heap_cost = given<"stated.heap_cost">(*table).value_or(""),
                       .why_no_heap = given<"stated.why_no_heap">(*table).value_or(""),
                       .why_no_stack = given<"stated.why_no_stack">(*table).value_or("")};
}

void read_variables(const Table& root, Draft& draft) {
  draft.plan.variables["CFLAGS"] = standard_of<"variables.CFLAGS">;
  draft.plan.variables["CXXFLAGS"] = standard_of<"variables.CXXFLAGS">;
  draft.plan.variables["LDFLAGS"] = standard_of<"variables.LDFLAGS">;
  const auto table = root.open_table("variables");
  if (!table) return;
  check_variable_names(*table);
  for (const Pair& pair : table->pairs()) draft.declared.push_back(pair.key);
  for (const auto& [name, value] : variables_of(*table)) {
    draft.plan.variables[name] = value;
    draft.values.push_back({table->find(name)->at, table->path(name), value});
  }
}

void read_wait(const Table& table, Draft& draft) {
  constexpr double usual_load = 0.05;
  const QuietWait bounds{
      .most = given<"machine.wait_for_quiet">(table).value_or(std::chrono::nanoseconds(0)),
      .load = given<"machine.quiet_load">(table).value_or(usual_load),
      .temperature_c = given<"machine.quiet_temperature_c">(table),
      .frequency_khz = given<"machine.quiet_frequency_khz">(table)};
  if (table.find("wait_for_quiet") != nullptr) {
    draft.plan.wait_for_quiet = bounds;
    return;
  }
  for (const char* name : {"quiet_load", "quiet_temperature_c", "quiet_frequency_khz"})
    if (const Pair* pair = table.find(name))
      draft.problems.add(pair->at,
                         fmt::format("'machine.{}' has no effect without 'machine.wait_for_quiet': "
                                     "add that key, for example wait_for_quiet = \"2min\"",
                                     name));
}

void read_cpu(const Table& table, Draft& draft) {
  plan::Plan& plan = draft.plan;
  for (const std::uint32_t cpu : whole_numbers(table, "cpu", 1023)) plan.cpu.push_back(cpu);
  if (plan.cpu.empty()) return;
  std::ranges::sort(plan.cpu);
  if (table.find("cpus") != nullptr && plan.cpus != plan.cpu.size())
    draft.problems.add(
        table.find("cpus")->at,
        fmt::format(
            "'machine.cpus' is {}, but the number of CPUs in 'machine.cpu' is {}: leave out 'cpus'",
            plan.cpus, plan.cpu.size()));
  plan.cpus = static_cast<std::uint32_t>(plan.cpu.size());
}

void read_machine(const Table& root, Draft& draft) {
  const auto table = root.table("machine", names_below("machine"));
  draft.plan.cpus = value<"machine.cpus">(table);
  draft.plan.aslr = value<"machine.aslr">(table);
  if (!table) return;
  read_cpu(*table, draft);
  read_wait(*table, draft);
  const auto quiesce = given<"machine.quiesce">(*table);
  if (quiesce == to_string(Quiesce::strict)) draft.plan.quiesce = Quiesce::strict;
  if (quiesce == to_string(Quiesce::best_effort)) draft.plan.quiesce = Quiesce::best_effort;
  const Pair* knobs = table->find("knobs");
  draft.plan.knobs = given<"machine.knobs">(*table).value_or(std::vector<std::string>());
  if (knobs == nullptr) return;
  const auto* items = std::get_if<Items>(&knobs->value.data);
  if (items != nullptr && items->empty())
    table->refuse(*knobs,
                  "an array of at least one name (to use the standard knobs, leave the key out)");
  if (quiesce == to_string(Quiesce::off) || table->find("quiesce") == nullptr)
    draft.problems.add(knobs->at,
                       "'machine.knobs' has no effect with machine.quiesce = \"off\": use "
                       "\"best-effort\" or \"strict\", or leave 'knobs' out");
}

namespace {

// The number that stabctl has chosen from the range of nodes.
void read_chosen_nodes(Draft& draft) {
  if (!draft.nodes_chosen) return;
  const auto range = draft.plan.machines ? draft.plan.machines->range : std::nullopt;
  if (!range)
    return draft.problems.add(draft.nodes_chosen_at,
                              "'by_default.nodes' needs a range of nodes in 'machines.nodes', for "
                              "example \"2-4\": leave this key out");
  if (*draft.nodes_chosen < range->least || *draft.nodes_chosen > range->most)
    return draft.problems.add(
        draft.nodes_chosen_at,
        fmt::format("'by_default.nodes' is {}, but 'machines.nodes' asks for {} to {} nodes",
                    *draft.nodes_chosen, range->least, range->most));
  draft.plan.machines->nodes = *draft.nodes_chosen;
  draft.plan.machines->is_chosen = true;
}

// The nodes as a number, a range, or names.
void read_nodes(const Table& table, Draft& draft) {
  Machines& machines = *draft.plan.machines;
  const Pair* pair = table.find("nodes");
  if (pair == nullptr) return;
  if (std::holds_alternative<Items>(pair->value.data)) {
    machines.names = table.texts("nodes", is_node, node_rule).value_or(std::vector<std::string>());
    machines.nodes = static_cast<std::uint32_t>(machines.names.size());
    if (const auto& items = std::get<Items>(pair->value.data); items.empty())
      return table.refuse(*pair, "a number, or an array of at least one node name");
    else if (machines.names.empty())
      return;  // one of the names is wrong
  } else if (std::holds_alternative<std::int64_t>(pair->value.data)) {
    const auto number = table.integer("nodes", 1, max_machines);
    if (!number) return;
    machines.nodes = static_cast<std::uint32_t>(*number);
  } else if (const auto* text = std::get_if<std::string>(&pair->value.data)) {
    machines.range = node_range(*text);
    if (!machines.range) return table.refuse(*pair, nodes_rule);
    machines.nodes = machines.range->least;
  } else {
    return table.refuse(*pair, nodes_rule);
  }
  draft.nodes_at = pair->at;
  const std::set<std::string> different(machines.names.begin(), machines.names.end());
  if (different.size() != machines.names.size() || machines.nodes > max_machines)
    table.refuse(*pair, fmt::format("an array of at most {} different names", max_machines));
}

}  // namespace

void read_machines(const Table& root, Draft& draft) {
  const auto table = root.table("machines", names_below("machines"));
  if (!table) return read_chosen_nodes(draft);
  Machines& machines = draft.plan.machines.emplace();
  table->require("engine", "\"slurm\"");
  given<"machines.engine">(*table);
  read_nodes(*table, draft);
  read_chosen_nodes(draft);
  machines.partition = given<"machines.partition">(*table).value_or("");
  machines.account = given<"machines.account">(*table).value_or("");
  machines.qos = given<"machines.qos">(*table).value_or("");
  machines.constraint = given<"machines.constraint">(*table).value_or("");
  machines.reservation = given<"machines.reservation">(*table).value_or("");
  machines.time_limit = given<"machines.time_limit">(*table);
  machines.like_these = given<"machines.answer">(*table) == "like-these";
  machines.drain = value<"machines.drain">(table);
  if (machines.like_these) draft.machines_answer_at = table->find("answer")->at;
  const auto refuse = [&](std::string_view key, std::string_view why) {
    draft.problems.add(
        table->at(),
        fmt::format("'machine.{}' {}: leave this key out, or remove [machines]", key, why));
  };
  if (draft.plan.wait_for_quiet)
    refuse("wait_for_quiet", "looks at stabd's own machine, not at the nodes of a cluster");
}

// All cells of a block run on one machine, and each machine runs as many blocks. The designs below
// give blocks another meaning.
void check_machines(Draft& draft) {
  const std::uint32_t machines = draft.plan.machine_count();
  const DesignKind kind = draft.plan.design.kind;
  const bool is_shared = kind != DesignKind::nested && kind != DesignKind::calibration &&
                         kind != DesignKind::padding_study && kind != DesignKind::causal;
  if (machines == 1 || is_shared) return;
  draft.problems.add(
      draft.nodes_at,
      fmt::format("'machines.nodes' asks for {} nodes, but this version of stabd runs a {} design "
                  "on one node: use nodes = 1 or the name of one node, or submit one experiment "
                  "for each node",
                  machines, to_string(kind)));
}

void read_analysis(const Table& root, Draft& draft) {
  const auto table = root.table("analysis", names_below("analysis"));
  Analysis& analysis = draft.plan.analysis;
  read_response(table, draft);
  analysis.log_scale = value<"analysis.log">(table);
  analysis.alpha = value<"analysis.alpha">(table);
  analysis.sums_of_squares = static_cast<int>(value<"analysis.sums_of_squares">(table));
  analysis.pooled = value<"analysis.error">(table) == "pooled";
  analysis.estimand = value<"analysis.estimand">(table);
  analysis.losses = value<"analysis.losses">(table);
  analysis.these_programs = value<"analysis.programs">(table) == "these";
  analysis.all_pairs = value<"analysis.pairs">(table) == "all";
  analysis.higher_is_better = value<"analysis.better">(table) == "higher";
  const bool paper = value<"analysis.method">(table) == "stabilizer";
  if (!table) return;
  for (const Pair& pair : table->pairs()) draft.study.analysis[pair.key] = pair.at;
  analysis.equivalence = given<"analysis.equivalence">(*table);
  analysis.control = given<"analysis.control">(*table).value_or("");
  const auto cost = given<"analysis.cost">(*table);
  analysis.has_cost = cost.has_value();
  analysis.cost = cost.value_or(analysis.cost);
  if (paper) use_paper(*table, draft);
}

// Checks that the keys of [analysis] fit the kind of design.

namespace {

void refuse(Draft& draft, const std::string& key, std::string_view why) {
  draft.problems.add(draft.study.analysis.at(key), fmt::format("'analysis.{}' {}", key, why));
}

// Returns "" for designs whose error comes from blocks.
std::string_view why_no_blocks(const Plan& plan) {
  if (plan.analysis.stabilizer) return "method = \"stabilizer\" has tests of its own";
  switch (plan.design.kind) {
    case DesignKind::within_subjects:
      return "in a within-subjects design, each effect has its own error";
    case DesignKind::nested:
      return "a nested design compares the means of seeds";
    case DesignKind::padding_study:
      return "a padding study compares its arms seed by seed";
    case DesignKind::calibration:
      return "a calibration compares its arms block by block";
    default:
      return "";
  }
}

void check_split(Draft& draft) {
  const Analysis& analysis = draft.plan.analysis;
  bool split = draft.plan.is_split(analysis.response);
  for (const OtherResponse& each : analysis.others) split = split || draft.plan.is_split(each.name);
  if (split)
    refuse(draft, "response",
           fmt::format(
               "comes from Google Benchmark, which measures many benchmarks in one trial, but in a "
               "{} design each benchmark needs trials of its own: set design.kind = "
               "\"full-factorial\"",
               to_string(draft.plan.design.kind)));
}

// A control is a level other than the first one, and at least one further level must be compared
// with the first.
void check_control(Draft& draft) {
  const Analysis& analysis = draft.plan.analysis;
  if (analysis.control.empty()) return;
  if (draft.plan.design.kind != DesignKind::one_way || analysis.stabilizer)
    return refuse(draft, "control",
                  "works only with design.kind = \"one-way\", and not with method = "
                  "\"stabilizer\": remove it, or change the design");
  if (analysis.all_pairs)
    return refuse(draft, "control",
                  "repeats the first level, so it cannot be combined with pairs = \"all\": remove "
                  "one of the two");
  for (const DraftFactor& factor : draft.factors) {
    if (!factor.value.is_treatment()) continue;
    const auto& levels = std::get<FixedLevels>(factor.value.levels).levels;
    draft.plan.analysis.control = normal_level(factor.value, analysis.control);
    const auto found = std::ranges::find(levels, analysis.control, &Level::name);
    if (found == levels.end() || found == levels.begin() || levels.size() < 3)
      refuse(draft, "control",
             fmt::format("must be the second or a later level of '{}', and the factor needs at "
                         "least three levels",
                         factor.value.name));
  }
}

}  // namespace

void check_analysis(Draft& draft) {
  if (!draft.kind_is_good) return;
  const DesignKind kind = draft.plan.design.kind;
  if (draft.study.analysis.contains("programs") && kind != DesignKind::within_subjects)
    refuse(
        draft, "programs",
        fmt::format("chooses the scope of an overall answer, but a {} design gives an answer for "
                    "each benchmark: remove this key, or set design.kind = \"within-subjects\"",
                    to_string(kind)));
  const std::string_view why = why_no_blocks(draft.plan);
  if (draft.plan.analysis.pooled && !why.empty())
    refuse(draft, "error", fmt::format("cannot be \"pooled\", because {}: remove this key", why));
  if (draft.plan.analysis.estimand == "median" && kind != DesignKind::within_subjects &&
      !why.empty())
    refuse(draft, "estimand",
           fmt::format("cannot be \"median\", because {}: remove this key", why));
  if (!draft.plan.analysis.others.empty() && kind == DesignKind::calibration)
    refuse(draft, "response", "must be a single response in a calibration: leave out the others");
  if (draft.plan.answers_over_all()) check_split(draft);
  if (draft.factors_are_good) check_control(draft);
  if (!draft.plan.analysis.all_pairs) return;
  if (kind == DesignKind::calibration || kind == DesignKind::padding_study)
    refuse(
        draft, "pairs",
        fmt::format(
            "cannot be \"all\", because the two arms of a {} form only one pair: remove this key",
            kind == DesignKind::calibration ? "calibration" : "padding study"));
}

std::string_view why_only_means(const Plan& plan) {
  if (plan.design.kind == DesignKind::calibration) return "";
  if (plan.design.kind != DesignKind::within_subjects)
    if (const auto why = why_no_blocks(plan); !why.empty()) return why;
  return plan.analysis.pooled ? "error = \"pooled\" compares only means" : "";
}

}  // namespace stab::plan
