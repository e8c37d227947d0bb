// SPDX-License-Identifier: MIT
// Writes an experiment in the format of 'hyperfine --export-json': one result for each cell, with
// the wall times of its trials in the order in which they ran.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "results/exports/export.h"
#include "results/exports/measured.h"
#include "results/trials.h"

namespace stab::results {
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

}  // namespace stab::results
