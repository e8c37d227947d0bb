// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "design/expand.h"
#include "plan/plan.h"
#include "plan/reading/reader.h"
#include "results/export.h"
#include "results/trials.h"
#include "stats/causal/coz.h"
#include "stats/causal/run_text.h"
#include "store/records.h"
#include "toml/value.h"

namespace stab::results {
namespace {

// Tells which trials of an experiment are measurements, for formats that hold nothing else.

Result<plan::Plan> plan_of(const store::Experiment& experiment) {
  auto plan = plan::read_plan(experiment.plan);
  if (!plan)
    return fail(fmt::format("this version of stabd does not accept the plan of experiment {}: {}",
                            experiment.id, toml::describe(plan.error(), "plan")));
  return *std::move(plan);
}

// Whether the trial is ok, is not a warm-up, and is the last attempt at its position.
bool is_measured(const store::Trial& trial) {
  return trial.last && !trial.warmup && trial.status == store::TrialStatus::ok;
}

// The trial's level of each treatment; random factors are left out.
std::map<std::string, std::string> treatments_of(const plan::Plan& plan,
                                                 const store::Trial& trial) {
  std::map<std::string, std::string> levels;
  for (const std::size_t index : plan::treatments(plan)) {
    const auto level = trial.levels.find(plan.factors[index].name);
    if (level != trial.levels.end()) levels.insert(*level);
  }
  return levels;
}

}  // namespace

// Writes an experiment in the format of 'hyperfine --export-json': one result for each cell, with
// the wall times of its trials in the order in which they ran.

namespace {

constexpr double ns_per_second = 1e9;

// The lists take 24 bytes per trial; the texts are stored once per cell.
struct Cell {
  std::string command{};
  std::string benchmark{};
  std::map<std::string, std::string> levels{};
  std::vector<std::int64_t> wall{};
  std::vector<std::int64_t> rss{};
  std::vector<std::optional<int>> codes{};
  // The sums over the cell's trials; absent if any trial lacks the value.
  std::optional<double> user = 0.0;
  std::optional<double> system = 0.0;
};

void add(Cell& cell, const store::Trial& trial) {
  cell.wall.push_back(*trial.wall_ns);
  cell.codes.push_back(trial.exit_code);
  if (trial.max_rss_bytes) cell.rss.push_back(*trial.max_rss_bytes);
  const auto add_to = [](std::optional<double>& sum, std::optional<std::int64_t> value) {
    sum = sum && value ? std::optional(*sum + static_cast<double>(*value)) : std::nullopt;
  };
  add_to(cell.user, trial.user_ns);
  add_to(cell.system, trial.system_ns);
}

std::string seconds(double ns) {
  return fmt::format("{}", ns / ns_per_second);
}

double median_of(std::vector<std::int64_t> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  const auto upper = static_cast<double>(*middle);
  if (values.size() % 2 == 1) return upper;
  return (upper + static_cast<double>(*std::max_element(values.begin(), middle))) / 2;
}

std::string summary_of(const Cell& cell) {
  const auto n = static_cast<double>(cell.wall.size());
  double mean = 0;
  for (const std::int64_t each : cell.wall) mean += static_cast<double>(each) / n;
  double squares = 0;
  for (const std::int64_t each : cell.wall)
    squares += (static_cast<double>(each) - mean) * (static_cast<double>(each) - mean);
  const auto [least, most] = std::ranges::minmax(cell.wall);
  const auto mean_of = [n](std::optional<double> sum) { return sum ? seconds(*sum / n) : "null"; };
  return fmt::format(
      "\"mean\":{},\"stddev\":{},\"median\":{},\"user\":{},\"system\":{},\"min\":{},\"max\":{}",
      seconds(mean), n < 2 ? "null" : seconds(std::sqrt(squares / (n - 1))),
      seconds(median_of(cell.wall)), mean_of(cell.user), mean_of(cell.system),
      seconds(static_cast<double>(least)), seconds(static_cast<double>(most)));
}

// Writes a list in pieces, so that its whole text is never in memory.
template <class T, class Write>
Result<void> write_list(const char* name, const std::vector<T>& values, const Write& write,
                        const Sink& sink) {
  std::string piece = fmt::format(",\"{}\":[", name);
  for (std::size_t i = 0; i < values.size(); ++i) {
    piece += (i == 0 ? "" : ",") + write(values[i]);
    if (piece.size() < 60'000) continue;
    if (auto sunk = sink(piece); !sunk) return sunk;
    piece.clear();
  }
  return sink(piece + "]");
}

std::string parameters_of(const Cell& cell, bool several_benchmarks) {
  std::string text;
  const auto add_one = [&](const std::string& name, const std::string& level) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", json_string(name), json_string(level));
  };
  if (several_benchmarks) add_one("benchmark", cell.benchmark);
  for (const auto& [name, level] : cell.levels) add_one(name, level);
  return text.empty() ? "" : ",\"parameters\":{" + text + "}";
}

// The exit codes other than 0. All trials here are ok, so their plan accepts these codes; hyperfine
// would call them failures.
std::vector<std::optional<int>> not_zero(const std::vector<std::optional<int>>& codes) {
  std::set<std::optional<int>> others(codes.begin(), codes.end());
  others.erase(std::nullopt);
  others.erase(0);
  return {others.begin(), others.end()};
}

Result<void> write_cell(const Cell& cell, bool several_benchmarks, const Sink& sink) {
  if (auto sunk =
          sink(fmt::format("{{\"command\":{},{}", json_string(cell.command), summary_of(cell)));
      !sunk)
    return sunk;
  const auto time = [](std::int64_t ns) { return seconds(static_cast<double>(ns)); };
  if (auto sunk = write_list("times", cell.wall, time, sink); !sunk) return sunk;
  const auto bytes = [](std::int64_t each) { return std::to_string(each); };
  if (cell.rss.size() == cell.wall.size())
    if (auto sunk = write_list("memory_usage_byte", cell.rss, bytes, sink); !sunk) return sunk;
  const auto code = [](std::optional<int> each) { return each ? std::to_string(*each) : "null"; };
  if (auto sunk = write_list("exit_codes", cell.codes, code, sink); !sunk) return sunk;
  if (const std::vector<std::optional<int>> wanted = not_zero(cell.codes); !wanted.empty())
    if (auto sunk = write_list("accepted_exit_codes", wanted, code, sink); !sunk) return sunk;
  return sink(parameters_of(cell, several_benchmarks) + "}");
}

}  // namespace

Result<void> export_hyperfine(store::Reader& store, const store::Experiment& experiment,
                              const Sink& sink) {
  const auto plan = plan_of(experiment);
  if (!plan) return std::unexpected(plan.error());
  std::vector<Cell> cells;
  std::map<std::string, std::size_t> places;
  std::set<std::string> benchmarks;
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (!is_measured(trial) || !trial.wall_ns) return true;
    const std::string command = cell_text(*plan, trial);
    const auto [place, fresh] = places.try_emplace(command, cells.size());
    if (fresh)
      cells.push_back({.command = command,
                       .benchmark = trial.benchmark,
                       .levels = treatments_of(*plan, trial)});
    benchmarks.insert(trial.benchmark);
    add(cells[place->second], trial);
    return true;
  });
  if (!read) return fail(read.error().message);
  if (cells.empty())
    return fail(
        fmt::format("no successful trial of experiment {} has a wall time, so there is nothing to "
                    "export in hyperfine's format",
                    experiment.id));
  if (auto sunk = sink("{\"results\":["); !sunk) return sunk;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (auto sunk = sink(i == 0 ? "\n" : ",\n"); !sunk) return sunk;
    if (auto sunk = write_cell(cells[i], benchmarks.size() > 1, sink); !sunk) return sunk;
  }
  return sink("\n]}\n");
}

// Writes an experiment in the text format of Go's benchmarks, which benchstat reads: one line for
// each trial, or for each benchmark that a trial measured.

namespace {

bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}

// Makes one word of the text; different texts give different words.
std::string escaped(std::string_view text, std::string_view also) {
  std::string word;
  for (const char c : text)
    if (c <= ' ' || c > '~' || c == '%' || also.contains(c))
      word += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      word += c;
  return word;
}

// Go's benchmark names have a capital letter after "Benchmark".
std::string capital(const std::string& name, const plan::Plan& plan) {
  if (name.empty() || !is_lower(name.front())) return name;
  std::string changed = name;
  changed.front() = static_cast<char>(changed.front() - 'a' + 'A');
  const std::string_view benchmark = std::string_view(changed).substr(0, changed.find('/'));
  const auto is_other = [&](const plan::Benchmark& each) { return each.name == benchmark; };
  return std::ranges::any_of(plan.benchmarks, is_other) ? "_" + name : changed;
}

// benchstat would read a number after the last hyphen as a count of CPUs.
bool ends_as_cpus(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789");
  return digits != std::string::npos && digits + 1 < name.size() && name[digits] == '-';
}

std::string line_name(const plan::Plan& plan, const store::Trial& trial,
                      const std::string& subject) {
  std::string name = "Benchmark" + escaped(capital(subject, plan), "");
  for (const auto& [factor, level] : treatments_of(plan, trial))
    name += fmt::format("/{}={}", escaped(factor, "/"), escaped(level, "/"));
  return ends_as_cpus(name) ? name + "-1" : name;
}

std::string number_text(const counters::Number& number) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

// Times and memory of the whole trial, by their units in the output.
constexpr std::array times{std::pair{"ns/op", &store::Trial::wall_ns},
                           std::pair{"user-ns/op", &store::Trial::user_ns},
                           std::pair{"sys-ns/op", &store::Trial::system_ns},
                           std::pair{"peak-RSS-bytes", &store::Trial::max_rss_bytes}};
constexpr std::array<std::string_view, 5> own_responses{"wall", "user", "system", "cpu", "max_rss"};

bool is_own(const std::string& response) {
  return std::ranges::find(own_responses, response) != own_responses.end();
}

// "" if the trial has no number.
std::string metrics_of(const store::Trial& trial, const SubjectNumber& number,
                       const std::string& response) {
  std::string text;
  if (number.subject == trial.benchmark)
    for (const auto& [unit, member] : times)
      if (const auto& value = trial.*member) text += fmt::format(" {} {}", *value, unit);
  if (number.value && !is_own(response))
    text += fmt::format(" {} {}", number_text(*number.value), escaped(response, ""));
  return text;
}

std::string header(const store::Experiment& experiment, const plan::Plan& plan) {
  std::string text = fmt::format("goos: linux\ngoarch: amd64\npkg: {}\n",
                                 escaped(one_line(experiment.name, 200), ""));
  if (plan.analysis.higher_is_better)
    text += fmt::format("Unit {} better=higher\n", escaped(plan.analysis.response, ""));
  return text;
}

}  // namespace

Result<void> export_benchstat(store::Reader& store, const store::Experiment& experiment,
                              const Sink& sink) {
  const auto plan = plan_of(experiment);
  if (!plan) return std::unexpected(plan.error());
  const std::string& response = plan->analysis.response;
  Result<void> sunk = sink(header(experiment, *plan));
  if (!sunk) return sunk;
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (!is_measured(trial)) return true;
    for (const SubjectNumber& each : numbers_of(trial, *plan, response)) {
      const std::string metrics = metrics_of(trial, each, response);
      if (metrics.empty()) continue;
      sunk = sink(line_name(*plan, trial, each.subject) + " 1" + metrics + "\n");
      if (!sunk) return false;
    }
    return true;
  });
  if (!read) return fail(read.error().message);
  return sunk;
}

// Writes the runs of a causal plan as one profile in coz's format, in which each run begins with
// `startup`.

namespace {

Result<std::string> as_coz(const store::Trial& trial) {
  stats::causal::Profile profile;
  if (auto read = stats::causal::read_run(trial.causal, profile); !read)
    return fail(fmt::format("trial {}, attempt {}: {}", trial.position, trial.attempt,
                            read.error().message));
  return stats::causal::as_coz(profile);
}

std::string listed(const std::set<std::string>& cells) {
  std::string text;
  for (const std::string& cell : cells)
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", one_line(cell, 200));
  return text;
}

// The trials of at most one of these cells have been written.
Result<void> check_cells(const store::Experiment& experiment, const std::string& cell,
                         const std::set<std::string>& cells) {
  if (cells.empty())
    return fail(fmt::format(
        "no trial of experiment {} succeeded, so there is nothing to export in coz's format",
        experiment.id));
  if (cell.empty() && cells.size() > 1)
    return fail(
        fmt::format("experiment {} has several cells, and coz's format has no place for their "
                    "names: choose a cell with --cell: {}",
                    experiment.id, listed(cells)));
  if (!cell.empty() && !cells.contains(cell))
    return fail(fmt::format(
        "experiment {} has no cell '{}' with a successful trial: choose a cell with --cell: {}",
        experiment.id, one_line(cell, 200), listed(cells)));
  return {};
}

}  // namespace

Result<void> export_coz(store::Reader& store, const store::Experiment& experiment,
                        const std::string& cell, const Sink& sink) {
  const auto plan = plan_of(experiment);
  if (!plan) return std::unexpected(plan.error());
  if (!plan->is_causal())
    return fail(
        fmt::format("experiment {} has no causal profile, and coz's format holds only causal "
                    "profiles: use a plan with design.kind = \"causal\"",
                    experiment.id));
  std::set<std::string> cells;
  Result<void> sunk;
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (!is_measured(trial)) return true;
    const std::string name = cell_text(*plan, trial);
    cells.insert(name);
    if (cell.empty() ? cells.size() > 1 : name != cell) return true;
    const auto text = as_coz(trial);
    sunk = text ? sink(*text) : std::unexpected(text.error());
    return sunk.has_value();
  });
  if (!read) return fail(read.error().message);
  if (!sunk) return sunk;
  return check_cells(experiment, cell, cells);
}

}  // namespace stab::results
