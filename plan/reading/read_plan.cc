// SPDX-License-Identifier: MIT
#include "plan/reading/read_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "design/model.h"
#include "design/resolve.h"
#include "design/trial_list.h"
#include "plan/reading/draft.h"
#include "plan/reading/key_list.h"
#include "plan/texts.h"

namespace stab::plan {
namespace {

std::unexpected<std::vector<Problem>> only(Position at, std::string message) {
  Problems problems;
  problems.add(at, std::move(message));
  return std::unexpected(std::move(problems).take());
}

// A header "[name]" or "[[name]]" that is alone on its line.
struct Header {
  std::string_view name;
  bool doubled = false;
  Position at;
};

std::vector<Header> headers_in(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const auto trimmed = [&](std::string_view part) {
    const std::size_t first = part.find_first_not_of(blanks);
    if (first == std::string_view::npos) return std::string_view();
    return part.substr(first, part.find_last_not_of(blanks) - first + 1);
  };
  std::vector<Header> headers;
  std::uint32_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view whole = text.substr(at, end - at);
    const std::string_view part = trimmed(whole.substr(0, whole.find('#')));
    const auto column = static_cast<std::uint32_t>(whole.find('[') + 2);
    if (part.starts_with("[[") && part.ends_with("]]"))
      headers.push_back({trimmed(part.substr(2, part.size() - 4)), true, {line, column}});
    else if (part.starts_with('[') && part.ends_with(']'))
      headers.push_back({trimmed(part.substr(1, part.size() - 2)), false, {line, column}});
    at = end + 1;
  }
  return headers;
}

// Finds a table that may appear several times, if a header "[name]" says that it may not. The TOML
// parser would complain about another line, in words about tables.
std::optional<toml::SyntaxError> single_header(std::string_view text) {
  const auto headers = headers_in(text);
  for (const Header& header : headers) {
    const bool repeated = std::ranges::count(headers, header.name, &Header::name) > 1;
    const bool several = header.name == "benchmark" || header.name == "exclude" ||
                         header.name == "measure.output" || header.name == "design.cells";
    if (several && repeated && !header.doubled)
      return toml::SyntaxError{
          header.at,
          fmt::format("[{0}] may appear only once: write [[{0}]], which may appear several times",
                      header.name)};
  }
  return std::nullopt;
}

// Gives keys that have a better name the name that the rest of the reader knows.
void use_own_names(Value& tree, Draft& draft) {
  for (const OtherName& other : other_names) {
    const auto table = std::ranges::find(std::get<Pairs>(tree.data), other.table, &Pair::key);
    if (table == std::get<Pairs>(tree.data).end()) continue;
    auto* pairs = std::get_if<Pairs>(&table->value.data);
    if (pairs == nullptr) continue;
    const auto better = std::ranges::find(*pairs, other.better, &Pair::key);
    if (better == pairs->end()) continue;
    if (std::ranges::find(*pairs, other.key, &Pair::key) == pairs->end()) {
      better->key = other.key;
      continue;
    }
    draft.problems.add(better->at,
                       fmt::format("'{0}.{1}' is another name for '{0}.{2}': use only one of them",
                                   other.table, other.better, other.key));
    pairs->erase(better);
  }
}

void read_tables(const Value& tree, Draft& draft) {
  const Table root(draft.problems, tree, "", names_below(""));
  read_experiment(root, draft);
  read_by_default(root, draft);
  read_variables(root, draft);
  read_benchmarks(root, draft);
  read_factors(root, draft);
  read_randomize(root, draft);
  read_stated(root, draft);
  read_design(root, draft);
  read_causal(root, draft);
  read_exclude(root, draft);
  read_measure(root, draft);
  read_machine(root, draft);
  read_machines(root, draft);
  read_analysis(root, draft);
}

void check_tables(Draft& draft) {
  check_names(draft);
  check_builds(draft);
  check_factors(draft);
  check_design(draft);
  check_stop(draft);
  check_analysis(draft);
  check_exclude(draft);
  check_studies(draft);
  check_turns(draft);
  check_simulated(draft);
  check_beside(draft);
  check_causal(draft);
  check_options(draft);
  check_machines(draft);
  check_size(draft);
}

Plan finish(Draft draft) {
  Plan plan = std::move(draft.plan);
  for (DraftFactor& factor : draft.factors) plan.factors.push_back(std::move(factor.value));
  for (DraftBenchmark& benchmark : draft.benchmarks)
    plan.benchmarks.push_back(std::move(benchmark.value));
  for (DraftCell& cell : draft.cells) plan.design.cells.push_back(std::move(cell.value));
  for (const Factor& factor : plan.factors)
    if (const auto* nested = std::get_if<RandomSeeds>(&factor.levels))
      for (Benchmark& benchmark : plan.benchmarks) benchmark.repetitions = nested->runs;
  if (plan.design.stop)
    for (Benchmark& benchmark : plan.benchmarks) benchmark.repetitions = plan.design.stop->max;
  // Each machine runs as many blocks as one alone would.
  const std::uint32_t machines = plan.machine_count();
  for (Benchmark& benchmark : plan.benchmarks) benchmark.repetitions *= machines;
  plan.warmup *= machines;
  plan.design.fewest_timed_blocks *= machines;
  if (plan.design.stop) {
    plan.design.stop->max *= machines;
    for (std::uint32_t& look : plan.design.stop->looks) look *= machines;
  }
  return plan;
}

// with_defaults() adds a comment line that begins with this mark, and the table on the next line.
constexpr std::string_view mark_of_defaults = "\n\n# Added by stabctl: ";
constexpr std::string_view header_of_defaults = "\n[by_default]\n";
constexpr std::string_view pads_by_default = "stack = true\n";
constexpr std::string_view nodes_by_default = "nodes = ";
constexpr std::string_view layer_by_default = "heap = \"layer\"\n";
constexpr std::string_view cost_by_default = "cost = true\n";

std::string clang_by_default() {
  return fmt::format("clang = {}\n", default_clang);
}

// Whether a command of the plan names szc, directly or through a variable.
bool builds_with_szc(const Plan& plan) {
  return std::ranges::any_of(plan.benchmarks, [&](const Benchmark& benchmark) {
    if (!benchmark.build) return false;
    if (names_szc(*benchmark.build)) return true;
    const std::vector<std::string> used = names_in(*benchmark.build);
    const auto names_it = [&](const Variables& variables) {
      return std::ranges::any_of(variables, [&](const auto& variable) {
        return std::ranges::find(used, variable.first) != used.end() && names_szc(variable.second);
      });
    };
    if (names_it(plan.variables)) return true;
    return std::ranges::any_of(plan.factors, [&](const Factor& factor) {
      const auto* fixed = std::get_if<FixedLevels>(&factor.levels);
      return fixed != nullptr && std::ranges::any_of(fixed->levels, names_it, &Level::variables);
    });
  });
}

// Whether the plan leaves these options to defaults. A plan that sets or varies one of them, turns
// code off, or varies code, gets what it says. A simulator's counts must not vary.
bool leaves_open(const Plan& plan, const std::vector<std::string>& options) {
  if (plan.is_causal() || plan.simulated || !builds_with_szc(plan)) return false;
  const auto is_one = [&](const std::string& name) {
    return std::ranges::find(options, name) != options.end();
  };
  const auto code = plan.randomize.find("code");
  if (code != plan.randomize.end() && code->second.number == 0) return false;
  return std::ranges::none_of(plan.randomize,
                              [&](const auto& option) { return is_one(option.first); }) &&
         std::ranges::none_of(plan.factors, [&](const Factor& factor) {
           return factor.kind == FactorKind::option &&
                  (factor.name == "code" || is_one(factor.name));
         });
}

bool gets_pads(const Plan& plan) {
  return leaves_open(plan, {"stack"});
}

// stabd makes no test runs on a cluster.
bool gets_layer(const Plan& plan) {
  return !plan.machines && leaves_open(plan, {"heap", "allocator"});
}

// Whether the plan gets plain trials by default. It must have enough blocks to tell what random
// layouts cost. `nodes`: their number, if it was chosen from a range.
bool gets_cost(const Plan& plan, std::optional<std::uint32_t> nodes) {
  if (plan.analysis.has_cost || treatments(plan).empty() || !why_no_plain_trials(plan).empty())
    return false;
  if (plan.randomize.empty() && !builds_with_szc(plan)) return false;
  const std::uint32_t least = blocks_for_plain * least_plain_trials * plan.machine_count();
  if (std::ranges::any_of(plan.benchmarks,
                          [&](const Benchmark& each) { return each.repetitions < least; }))
    return false;
  Plan with = plan;
  with.analysis.cost = true;
  const std::size_t of_each_machine = count_trials(with) / plan.machine_count();
  return of_each_machine * nodes.value_or(plan.machine_count()) <= max_trials;
}

// Whether a build of the plan may use the compiler that [by_default] names.
bool gets_clang(const Plan& plan) {
  const auto is_default = [&](const char* variable, std::string_view command) {
    return plan.variables.at(variable) == fmt::format("{}-{}", command, earlier_clang);
  };
  return (is_default("CC", "clang") || is_default("CXX", "clang++")) &&
         std::ranges::any_of(plan.benchmarks, [](const Benchmark& benchmark) {
           return benchmark.build.has_value();
         });
}

}  // namespace

std::string describe(const std::vector<toml::Problem>& problems, std::string_view file) {
  return toml::describe(problems, file) + "'stabctl keys' explains the keys of plans";
}

std::string with_defaults(const std::string& text, std::optional<std::uint32_t> nodes) {
  const auto plan = read_plan(text);
  if (!plan) return text;
  std::string lines;
  if (nodes) lines += fmt::format("{}{}\n", nodes_by_default, *nodes);
  if (gets_pads(*plan)) lines += pads_by_default;
  if (gets_layer(*plan)) lines += layer_by_default;
  if (gets_cost(*plan, nodes)) lines += cost_by_default;
  if (gets_clang(*plan)) lines += clang_by_default();
  if (lines.empty()) return text;
  const std::string result = fmt::format("{}{}defaults for keys that the plan does not set.{}{}",
                                         text, mark_of_defaults, header_of_defaults, lines);
  // The plan has such a table already, or would become too long.
  return read_plan(result) ? result : text;
}

std::string_view without_defaults(std::string_view text) {
  const std::size_t mark = text.rfind(mark_of_defaults);
  if (mark == std::string_view::npos) return text;
  const std::size_t header = text.find(header_of_defaults, mark);
  if (header == std::string_view::npos || header != text.find('\n', mark + mark_of_defaults.size()))
    return text;
  // Keys that a user added or changed are part of the plan.
  std::string_view lines = text.substr(header + header_of_defaults.size());
  if (lines.starts_with(nodes_by_default)) {
    const std::size_t end = lines.find_first_not_of("0123456789", nodes_by_default.size());
    if (end != std::string_view::npos && lines[end] == '\n') lines.remove_prefix(end + 1);
  }
  for (const std::string_view line : {pads_by_default, layer_by_default, cost_by_default})
    if (lines.starts_with(line)) lines.remove_prefix(line.size());
  return lines.empty() || lines == clang_by_default() ? text.substr(0, mark) : text;
}

namespace {

// Why the plan has no answer about machines like its own; "" if it has one.
std::string why_no_other_machines(const Plan& plan) {
  if (plan.machine_count() < 2) return "'machines.nodes' is 1";
  return why_machines_are_one(plan, plan.analysis.response);
}

}  // namespace

std::expected<Plan, std::vector<Problem>> read_plan(std::string_view text) {
  if (text.size() > max_plan_bytes)
    return only(
        {},
        fmt::format("the plan has {} bytes, but stabd reads at most {}: is this the right file?",
                    text.size(), max_plan_bytes));
  auto tree = toml::parse_toml(text);
  if (!tree) {
    const auto header = single_header(text);
    return header ? only(header->at, header->message) : only(tree.error().at, tree.error().message);
  }
  if (std::get<Pairs>(tree->data).empty())
    return only(
        {}, "the plan is empty: it needs at least [experiment] with a name and one [[benchmark]]");
  Draft draft;
  use_own_names(*tree, draft);
  read_tables(*tree, draft);
  check_tables(draft);
  if (!draft.problems.empty()) return std::unexpected(std::move(draft.problems).take());
  const std::optional<Position> answer_at = draft.machines_answer_at;
  const auto keys_of_analysis = draft.study.analysis;
  Plan plan = finish(std::move(draft));
  if (const std::string why = plan.analysis.cost ? why_no_plain_trials(plan) : ""; !why.empty()) {
    if (plan.analysis.has_cost)
      return only(keys_of_analysis.at("cost"),
                  fmt::format("'analysis.cost' is not possible, because {}: change the plan, or "
                              "remove this key",
                              why));
    plan.analysis.cost = false;
  }
  if (const std::string why = answer_at ? why_no_other_machines(plan) : ""; !why.empty())
    return only(*answer_at, fmt::format("'machines.answer' = \"like-these\" is not possible, "
                                        "because {}: change the plan, or use \"these\"",
                                        why));
  return plan;
}

}  // namespace stab::plan
