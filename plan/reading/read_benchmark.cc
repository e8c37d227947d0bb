// SPDX-License-Identifier: MIT
// Reads [defaults] and [[benchmark]].
#include <fmt/format.h>

#include <set>
#include <utility>

#include "plan/reading/draft.h"
#include "plan/texts.h"

namespace stab::plan {
namespace {

constexpr const char* own_environment = "STABILIZER_OPTIONS";

void note_repetitions(const Table& table, Draft& draft) {
  if (const Pair* pair = table.find("repetitions")) draft.repetitions_at.push_back(pair->at);
}

// Reads the values with which every benchmark starts.
Benchmark read_defaults(const Table& root, Draft& draft) {
  const auto table = root.table("defaults", names_below("defaults"));
  if (table) note_repetitions(*table, draft);
  draft.plan.warmup = value<"defaults.warmup">(table);
  draft.plan.retries = value<"defaults.retries">(table);
  draft.plan.exclude_repeats = value<"defaults.exclude_repeats">(table);
  draft.plan.give_up_after = value<"defaults.give_up_after">(table);
  draft.plan.on_build_failure = value<"defaults.on_build_failure">(table) == "fail-experiment"
                                    ? OnBuildFailure::fail_experiment
                                    : OnBuildFailure::fail_benchmark;
  Benchmark benchmark;
  benchmark.repetitions = value<"defaults.repetitions">(table);
  benchmark.timeout = value<"defaults.timeout">(table);
  benchmark.build_timeout = value<"defaults.build_timeout">(table);
  benchmark.output_limit = value<"defaults.output_limit">(table);
  if (!table) return benchmark;
  benchmark.memory_limit = given<"defaults.memory_limit">(*table).value_or(0);
  benchmark.cpu_limit = given<"defaults.cpu_limit">(*table).value_or(std::chrono::seconds(0));
  benchmark.process_limit = given<"defaults.process_limit">(*table).value_or(0);
  benchmark.file_limit = given<"defaults.file_limit">(*table).value_or(0);
  return benchmark;
}

void read_limits(const Table& table, Benchmark& benchmark, Draft& draft) {
  note_repetitions(table, draft);
  if (const auto count = given<"benchmark.repetitions">(table)) benchmark.repetitions = *count;
  if (const auto time = given<"benchmark.timeout">(table)) benchmark.timeout = *time;
  if (const auto time = given<"benchmark.build_timeout">(table)) benchmark.build_timeout = *time;
  if (const auto limit = given<"benchmark.output_limit">(table)) benchmark.output_limit = *limit;
  if (const auto limit = given<"benchmark.memory_limit">(table)) benchmark.memory_limit = *limit;
  if (const auto limit = given<"benchmark.cpu_limit">(table)) benchmark.cpu_limit = *limit;
  if (const auto limit = given<"benchmark.process_limit">(table)) benchmark.process_limit = *limit;
  if (const auto limit = given<"benchmark.file_limit">(table)) benchmark.file_limit = *limit;
}

Check read_check(const Table& benchmark) {
  Check check;
  const auto table = benchmark.table("check", names_below("benchmark.check"));
  if (!table) return check;
  if (const auto codes = whole_numbers(*table, "exit", 255); !codes.empty()) {
    check.exit = static_cast<int>(codes.front());
    check.other_exits.assign(codes.begin() + 1, codes.end());
  }
  check.stdout_sha256 = given<"benchmark.check.stdout_sha256">(*table);
  if (check.stdout_sha256)
    for (char& c : *check.stdout_sha256)
      if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  check.stdout_file = given<"benchmark.check.stdout_file">(*table);
  check.command = given<"benchmark.check.command">(*table);
  return check;
}

void read_build(const Table& table, DraftBenchmark& draft) {
  draft.value.build = given<"benchmark.build">(table);
  if (draft.value.build)
    draft.build = {table.find("build")->at, table.path("build"), *draft.value.build};
}

void read_run(const Table& table, DraftBenchmark& draft) {
  table.require("run",
                R"(an array with the program and its arguments, for example ["${OUT}", "100"])");
  const auto words = given<"benchmark.run">(table);
  if (!words) return;
  const Pair& pair = *table.find("run");
  if (words->empty() || words->front().empty())
    table.problems().add(pair.at,
                         fmt::format("'{}' must start with the program to run", table.path("run")));
  const Items& items = std::get<Items>(pair.value.data);
  for (std::size_t i = 0; i < words->size(); ++i)
    draft.run.push_back({items[i].at, table.path("run"), (*words)[i]});
  draft.value.run = *words;
}

void read_beside(const Table& table, DraftBenchmark& draft) {
  const auto words = given<"benchmark.beside">(table);
  if (!words) return;
  const Pair& pair = *table.find("beside");
  if (words->empty() || words->front().empty())
    table.problems().add(
        pair.at, fmt::format("'{}' must start with the program to run", table.path("beside")));
  const Items& items = std::get<Items>(pair.value.data);
  for (std::size_t i = 0; i < words->size(); ++i)
    draft.run.push_back({items[i].at, table.path("beside"), (*words)[i]});
  draft.value.beside = *words;
}

void read_env(const Table& table, DraftBenchmark& draft) {
  const auto env = table.open_table("env");
  if (!env) return;
  draft.value.env = variables_of(*env);
  if (const Pair* own = env->find(own_environment))
    env->problems().add(own->at, fmt::format("'{}' is set by stabd itself: use [randomize]",
                                             env->path(own_environment)));
  for (const auto& [name, value] : draft.value.env)
    draft.run.push_back({env->find(name)->at, env->path(name), value});
}

std::optional<std::string> read_step(const Table& table, std::string_view name,
                                     std::optional<std::string> command, DraftBenchmark& draft) {
  if (command) draft.run.push_back({table.find(name)->at, table.path(name), *command});
  return command;
}

DraftBenchmark read_benchmark(const Value& value, const Benchmark& defaults, Draft& draft) {
  const Table table(draft.problems, value, "benchmark", names_below("benchmark"));
  const Position name_at = table.find("name") != nullptr ? table.find("name")->at : value.at;
  DraftBenchmark read{.at = name_at, .value = defaults, .build = {}, .run = {}};
  table.require("name", name_rule);
  read.value.name = given<"benchmark.name">(table).value_or("");
  read_build(table, read);
  read_run(table, read);
  read_env(table, read);
  read.value.stdin_file = given<"benchmark.stdin">(table);
  if (read.value.stdin_file)
    read.run.push_back({table.find("stdin")->at, table.path("stdin"), *read.value.stdin_file});
  read_beside(table, read);
  read.value.prepare = read_step(table, "prepare", given<"benchmark.prepare">(table), read);
  read.value.cleanup = read_step(table, "cleanup", given<"benchmark.cleanup">(table), read);
  read.value.sources = given<"benchmark.sources">(table).value_or(std::vector<std::string>{});
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
          fmt::format("two benchmarks have the name '{}': rename this one", benchmark.value.name));
}

}  // namespace

void read_benchmarks(const Table& root, Draft& draft) {
  const Benchmark defaults = read_defaults(root, draft);
  root.require("benchmark", "at least one [[benchmark]]");
  const Items* items = root.items("benchmark", "an array of tables, written as [[benchmark]]");
  if (items == nullptr) return;
  const Pair& pair = *root.find("benchmark");
  if (items->empty() || items->size() > max_length) {
    draft.problems.add(
        pair.at, fmt::format("a plan must have 1 to {} benchmarks, but this one has {}", max_length,
                             items->size()));
    return;
  }
  for (const Value& item : *items) {
    if (std::holds_alternative<Pairs>(item.data))
      draft.benchmarks.push_back(read_benchmark(item, defaults, draft));
    else
      root.refuse_item(pair, item, "a table, written as [[benchmark]]");
  }
  check_unique_names(draft);
}

}  // namespace stab::plan
