// SPDX-License-Identifier: MIT
// [defaults] and [[benchmark]].
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "plan/reading/draft.h"
#include "plan/rules.h"

namespace stab::plan {
namespace {

constexpr std::uint64_t max_output = std::uint64_t{1} << 30;
constexpr const char* own_environment = "STABILIZER_OPTIONS";

// The keys that [defaults] and a benchmark share.
void read_limits(const Table& table, Benchmark& benchmark, Draft& draft) {
  if (const Entry* entry = table.find("repetitions")) draft.repetitions_at.push_back(entry->at);
  if (const auto repetitions = table.integer("repetitions", 1, 100'000))
    benchmark.repetitions = static_cast<std::uint32_t>(*repetitions);
  if (const auto timeout = table.duration("timeout")) benchmark.timeout = *timeout;
  if (const auto timeout = table.duration("build_timeout")) benchmark.build_timeout = *timeout;
  if (const auto limit = table.bytes("output_limit", max_output)) benchmark.output_limit = *limit;
}

// What every benchmark starts from.
Benchmark read_defaults(const Table& root, Draft& draft) {
  static const Words known{"repetitions", "timeout", "build_timeout", "output_limit",
                           "warmup",      "retries", "give_up_after", "on_build_failure"};
  static const Words on_build_failure{"fail-benchmark", "fail-experiment"};
  Benchmark benchmark;
  const auto table = root.table("defaults", known);
  if (!table) return benchmark;
  read_limits(*table, benchmark, draft);
  const auto count = [&](std::string_view key, std::uint64_t max, std::uint32_t& target) {
    if (const auto value = table->integer(key, 0, max)) target = static_cast<std::uint32_t>(*value);
  };
  count("warmup", 1000, draft.plan.warmup);
  count("retries", 10, draft.plan.retries);
  count("give_up_after", 1000, draft.plan.give_up_after);
  if (const auto choice = table->choice("on_build_failure", on_build_failure))
    draft.plan.on_build_failure = *choice == "fail-experiment" ? OnBuildFailure::fail_experiment
                                                               : OnBuildFailure::fail_benchmark;
  return benchmark;
}

Check read_check(const Table& benchmark) {
  static const Words known{"exit", "stdout_sha256", "stdout_file", "command"};
  Check check;
  const auto table = benchmark.table("check", known);
  if (!table) return check;
  if (const auto exit = table->integer("exit", 0, 255)) check.exit = static_cast<int>(*exit);
  check.stdout_sha256 = table->text("stdout_sha256", is_sha256, sha256_rule);
  if (check.stdout_sha256)
    for (char& c : *check.stdout_sha256)
      if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  check.stdout_file = table->text("stdout_file", is_relative_path, relative_path_rule);
  check.command = table->text("command", is_filled_word, filled_word_rule);
  return check;
}

void read_build(const Table& table, DraftBenchmark& draft) {
  draft.value.build = table.text("build", is_filled_word, filled_word_rule);
  if (draft.value.build)
    draft.build = {table.find("build")->at, table.path("build"), *draft.value.build};
}

void read_run(const Table& table, DraftBenchmark& draft) {
  table.require("run", R"(an array with the program and its arguments, as in ["${OUT}", "100"])");
  const auto words = table.texts("run", is_word, word_rule);
  if (!words) return;
  const Entry& entry = *table.find("run");
  if (words->empty() || words->front().empty())
    table.problems().add(entry.at,
                         fmt::format("'{}' must start with the program to run", table.path("run")));
  const Items& items = std::get<Items>(entry.value.data);
  for (std::size_t i = 0; i < words->size(); ++i)
    draft.run.push_back({items[i].at, table.path("run"), (*words)[i]});
  draft.value.run = *words;
}

void read_env(const Table& table, DraftBenchmark& draft) {
  const auto env = table.open_table("env");
  if (!env) return;
  draft.value.env = variables_of(*env);
  if (const Entry* own = env->find(own_environment))
    env->problems().add(own->at, fmt::format("'{}' is set by stabd itself: use [randomize]",
                                             env->path(own_environment)));
  for (const auto& [name, value] : draft.value.env)
    draft.run.push_back({env->find(name)->at, env->path(name), value});
}

DraftBenchmark read_benchmark(const Value& value, const Benchmark& defaults, Draft& draft) {
  static const Words known{"name",    "build",         "run",         "env",
                           "stdin",   "sources",       "check",       "repetitions",
                           "timeout", "build_timeout", "output_limit"};
  const Table table(draft.problems, value, "benchmark", known);
  const Position name_at = table.find("name") != nullptr ? table.find("name")->at : value.at;
  DraftBenchmark read{.at = name_at, .value = defaults, .build = {}, .run = {}};
  table.require("name", name_rule);
  read.value.name = table.text("name", is_name, name_rule).value_or("");
  read_build(table, read);
  read_run(table, read);
  read_env(table, read);
  read.value.stdin_file = table.text("stdin", is_filled_word, filled_word_rule);
  if (read.value.stdin_file)
    read.run.push_back({table.find("stdin")->at, table.path("stdin"), *read.value.stdin_file});
  read.value.sources = table.texts("sources", is_relative_path, relative_path_rule)
                           .value_or(std::vector<std::string>{});
  read.value.check = read_check(table);
  read_limits(table, read.value, draft);
  return read;
}

void check_unique_names(Draft& draft) {
  std::set<std::string> names;
  for (const DraftBenchmark& benchmark : draft.benchmarks)
    if (!benchmark.value.name.empty() && !names.insert(benchmark.value.name).second)
      draft.problems.add(
          benchmark.at,
          fmt::format("two benchmarks are called '{}': rename this one", benchmark.value.name));
}

}  // namespace

void read_benchmarks(const Table& root, Draft& draft) {
  const Benchmark defaults = read_defaults(root, draft);
  root.require("benchmark", "at least one [[benchmark]]");
  const Items* items = root.items("benchmark", "an array of tables: write [[benchmark]]");
  if (items == nullptr) return;
  const Entry& entry = *root.find("benchmark");
  if (items->empty() || items->size() > max_entries) {
    draft.problems.add(entry.at, fmt::format("a plan has 1 to {} benchmarks, this one has {}",
                                             max_entries, items->size()));
    return;
  }
  for (const Value& item : *items) {
    if (std::holds_alternative<Entries>(item.data))
      draft.benchmarks.push_back(read_benchmark(item, defaults, draft));
    else
      root.refuse_item(entry, item, "a table: write [[benchmark]]");
  }
  check_unique_names(draft);
}

}  // namespace stab::plan
