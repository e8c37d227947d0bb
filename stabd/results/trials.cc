// SPDX-License-Identifier: MIT
#include "stabd/results/trials.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "counters/reading.h"
#include "design/expand.h"

namespace stab::results {
namespace {

// A stopping rule ended it where its reason says.
bool ran_to_its_end(const store::Experiment& experiment) {
  return experiment.state == "done" && experiment.reason.empty();
}

// Of others 'stabctl recover' may have saved what there is.
bool gap_is_damage(const store::Experiment& experiment) {
  return experiment.state == "done" || experiment.state == "analysing" ||
         experiment.state == "running";
}

}  // namespace

store::Outcome<void> for_each_trial(store::Reader& store, const store::Experiment& experiment,
                                    const std::function<bool(const store::Trial&)>& row) {
  if (!gap_is_damage(experiment)) return store.for_each_trial(experiment.id, row);
  std::uint64_t positions = 0;  // that are begun
  std::uint64_t attempts = 0;   // at the last one of them
  bool whole = true;
  bool wants_more = true;
  const auto read = store.for_each_trial(experiment.id, [&](const store::Trial& trial) {
    const bool next = trial.position == positions && trial.attempt == 0;
    whole = next || (trial.position + std::uint64_t{1} == positions && trial.attempt == attempts);
    if (!whole) return false;
    positions += next ? 1 : 0;
    attempts = trial.attempt + std::uint64_t{1};
    wants_more = row(trial);
    return wants_more;
  });
  if (!read) return read;
  if (whole && wants_more && ran_to_its_end(experiment)) whole = positions == experiment.trials;
  if (whole) return {};
  return std::unexpected(store::StoreError{
      .message = fmt::format("trials of experiment {} cannot be read: at or behind position {} one "
                             "is missing; the file is damaged: 'stabctl recover' saves what can be "
                             "read of it",
                             experiment.id, positions)});
}

namespace {

std::optional<std::int64_t> counted_in(const store::Trial& trial, const std::string& name) {
  const auto reading = std::ranges::find(trial.readings, name, &counters::Reading::name);
  if (reading == trial.readings.end()) return std::nullopt;
  return counters::comparable(*reading);
}

}  // namespace

std::optional<std::int64_t> response_of(const store::Trial& trial, const std::string& name) {
  if (name == "wall") return trial.wall_ns;
  if (name == "user") return trial.user_ns;
  if (name == "system") return trial.system_ns;
  if (name == "cpu") {
    if (!trial.user_ns || !trial.system_ns) return std::nullopt;
    return *trial.user_ns + *trial.system_ns;
  }
  if (name == "main_to_exit") return trial.layout.main_to_exit_ns;
  if (name == "region") return trial.layout.region_ns;
  if (name == "max_rss") return trial.max_rss_bytes;
  return counted_in(trial, name);
}

stats::Unit unit_of(const store::Trial& trial, const std::string& name) {
  if (name == "max_rss") return stats::Unit::bytes;
  const auto reading = std::ranges::find(trial.readings, name, &counters::Reading::name);
  if (reading == trial.readings.end() || reading->unit == "ns") return stats::Unit::nanoseconds;
  return stats::Unit::number;
}

void Response::append(std::optional<std::int64_t> value) {
  if (!value) {
    data_.response.push_back(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  if (!centre_) {
    centre_ = *value;
    data_.centre = static_cast<double>(*value);
  }
  data_.response.push_back(static_cast<double>(*value - *centre_));
}

std::string cell_text(const plan::Plan& plan, const store::Trial& trial) {
  std::string text = trial.benchmark;
  for (const std::size_t index : plan::treatments(plan)) {
    const auto level = trial.levels.find(plan.factors[index].name);
    if (level != trial.levels.end()) text += fmt::format(" {}={}", level->first, level->second);
  }
  return text;
}

}  // namespace stab::results
