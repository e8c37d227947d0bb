// SPDX-License-Identifier: MIT
#include "stabd/results/export.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "report/csv.h"

namespace stab::results {
namespace {

using nlohmann::ordered_json;

// Names of the columns that depend on the experiment, in a first pass.
struct Names {
  std::set<std::string> factors;
  std::vector<std::string> readings;
};

Result<Names> collect(store::Reader& store, store::Id experiment) {
  Names names;
  std::set<std::string> seen;
  const auto read = store.for_each_trial(experiment, [&](const store::Trial& trial) {
    for (const auto& [factor, level] : trial.levels) names.factors.insert(factor);
    for (const counters::Reading& reading : trial.readings)
      if (seen.insert(reading.name).second) names.readings.push_back(reading.name);
    return true;
  });
  if (!read) return fail(read.error().message);
  return names;
}

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

void add_readings(const Names& names, const store::Trial& trial, ordered_json& row) {
  for (const std::string& name : names.readings) {
    ordered_json value = nullptr;
    ordered_json status = nullptr;
    for (const counters::Reading& reading : trial.readings) {
      if (reading.name != name) continue;
      if (reading.status != counters::Status::absent) value = reading.value;
      status = counters::to_string(reading.status);
    }
    row[name] = value;
    row[name + ".status"] = status;
  }
}

ordered_json cell_of(const std::string& text) {
  return text;
}
// 64 bits do not fit a double, which is what most readers make of a number.
ordered_json cell_of(const std::optional<std::uint64_t>& number) {
  return number ? ordered_json(std::to_string(*number)) : ordered_json(nullptr);
}
template <class T>
ordered_json cell_of(const std::optional<T>& value) {
  return or_null(value);
}

void add_layout(const store::Layout& layout, ordered_json& row) {
  store::for_each_layout_column([&](const store::LayoutColumn& column, auto member) {
    row[column.name] = cell_of(layout.*member);
  });
}

// The one place that says which columns there are and in which order.
ordered_json row_of(const Names& names, const store::Trial& trial) {
  ordered_json row;
  row["position"] = trial.position;
  row["attempt"] = trial.attempt;
  row["last"] = trial.last;
  row["block"] = trial.block;
  row["warmup"] = trial.warmup;
  row["benchmark"] = trial.benchmark;
  for (const std::string& factor : names.factors) {
    const auto level = trial.levels.find(factor);
    row[factor] = level == trial.levels.end() ? ordered_json(nullptr) : ordered_json(level->second);
  }
  row["seed"] = cell_of(std::optional(trial.seed));
  row["status"] = store::to_string(trial.status);
  row["reason"] = trial.reason;
  row["exit_code"] = or_null(trial.exit_code);
  row["signal"] = or_null(trial.signal);
  row["started_ns"] = trial.started_ns;
  row["wall_ns"] = or_null(trial.wall_ns);
  row["user_ns"] = or_null(trial.user_ns);
  row["system_ns"] = or_null(trial.system_ns);
  row["max_rss_bytes"] = or_null(trial.max_rss_bytes);
  row["stdout_sha256"] = trial.stdout_sha256;
  row["build"] = trial.build;
  add_layout(trial.layout, row);
  add_readings(names, trial, row);
  return row;
}

std::string cell(const ordered_json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

}  // namespace

Result<std::string> export_csv(store::Reader& store, const store::Experiment& experiment) {
  const auto names = collect(store, experiment.id);
  if (!names) return std::unexpected(names.error());
  std::vector<std::string> cells;
  const ordered_json header = row_of(*names, store::Trial());
  for (const auto& [name, value] : header.items()) cells.push_back(name);
  std::string text = report::csv_line(cells);
  const auto read = store.for_each_trial(experiment.id, [&](const store::Trial& trial) {
    cells.clear();
    const ordered_json row = row_of(*names, trial);
    for (const auto& [name, value] : row.items()) cells.push_back(cell(value));
    text += report::csv_line(cells);
    return true;
  });
  if (!read) return fail(read.error().message);
  return text;
}

Result<std::string> export_json(store::Reader& store, const store::Experiment& experiment) {
  const auto names = collect(store, experiment.id);
  if (!names) return std::unexpected(names.error());
  std::string text = "[";
  const auto read = store.for_each_trial(experiment.id, [&](const store::Trial& trial) {
    text += text.size() == 1 ? "\n" : ",\n";
    text += row_of(*names, trial).dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    return true;
  });
  if (!read) return fail(read.error().message);
  return text + "\n]\n";
}

}  // namespace stab::results
