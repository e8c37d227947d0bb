// SPDX-License-Identifier: MIT
#include "stabd/results/trials.h"

#include <fmt/format.h>

#include <cmath>
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

std::optional<counters::Number> response_of(const store::Trial& trial, const std::string& name) {
  const auto number = store::number_of(trial, name);
  return number ? counters::comparable(*number) : std::nullopt;
}

stats::Unit unit_of(const store::Trial& trial, const std::string& name) {
  const auto number = store::number_of(trial, name);
  if (!number || number->unit == "ns") return stats::Unit::nanoseconds;
  return number->unit == "bytes" ? stats::Unit::bytes : stats::Unit::number;
}

void Response::leave_centre() {
  for (double& value : data_.response) value += data_.centre;
  data_.centre = 0;
  centred_ = false;
}

void Response::append(std::optional<counters::Number> value) {
  if (!value) {
    data_.response.push_back(std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const auto* whole = std::get_if<std::int64_t>(&*value);
  if (centred_ && whole != nullptr) {
    if (!centre_) {
      centre_ = *whole;
      data_.centre = static_cast<double>(*whole);
    }
    // Numbers of different signs may differ by more than 64 bits hold.
    std::int64_t distance = 0;
    if (!__builtin_sub_overflow(*whole, *centre_, &distance) &&
        std::abs(static_cast<double>(distance)) <= std::abs(data_.centre) / 2) {
      data_.response.push_back(static_cast<double>(distance));
      return;
    }
  }
  if (centred_) leave_centre();
  data_.response.push_back(counters::to_double(*value));
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
