// SPDX-License-Identifier: MIT
#include "results/exclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stab::exclusion {
namespace {

const counters::Reading* find(std::span<const counters::Reading> readings, std::string_view name) {
  const auto found = std::ranges::find(readings, name, &counters::Reading::name);
  return found == readings.end() ? nullptr : &*found;
}

Value number(std::span<const counters::Reading> readings, std::string_view name) {
  const counters::Reading* reading = find(readings, name);
  if (reading == nullptr) return std::unexpected(fmt::format("the trial has no {}", name));
  if (reading->status == counters::Status::absent) return std::unexpected(reading->reason);
  return std::visit([](auto value) { return static_cast<double>(value); }, reading->value);
}

Value change(const plan::Quantity& quantity, std::span<const counters::Reading> readings,
             double after) {
  const Value before = number(readings, quantity.before);
  if (!before) return before;
  if (quantity.take == plan::Take::difference) return after - *before;
  if (*before == 0) return std::unexpected(fmt::format("{} is 0", quantity.before));
  return std::abs(after - *before) / std::abs(*before);
}

}  // namespace

Value value_of(const plan::Quantity& quantity, std::span<const counters::Reading> readings,
               std::optional<std::int64_t> wall_ns) {
  const Value value = number(readings, quantity.reading);
  if (!value) return value;
  const bool over_time =
      quantity.take == plan::Take::per_second || quantity.take == plan::Take::share;
  if (over_time && wall_ns.value_or(0) <= 0)
    return std::unexpected("the trial's wall time is not known");
  const auto wall = static_cast<double>(wall_ns.value_or(0));
  switch (quantity.take) {
    case plan::Take::per_second:
      return *value * 1e9 / wall;
    case plan::Take::share:
      return *value / wall;
    case plan::Take::as_it_is:
      return value;
    case plan::Take::difference:
    case plan::Take::relative_change:
      return change(quantity, readings, *value);
  }
  return value;
}

Judgement judge(std::span<const plan::Exclusion> rules, const store::Trial& trial) {
  Judgement judgement;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const plan::Quantity* quantity = plan::find_quantity(rules[i].quantity);
    const Value value = quantity == nullptr ? std::unexpected(std::string())
                                            : value_of(*quantity, trial.readings, trial.wall_ns);
    if (!value)
      judgement.open.push_back(i);
    else if (!judgement.caught && plan::catches(rules[i], *value))
      judgement.caught = {.rule = i, .value = *value};
  }
  return judgement;
}

void mark(std::span<const plan::Exclusion> rules, store::Trial& trial) {
  if (trial.status != store::TrialStatus::ok || trial.warmup) return;
  const auto caught = judge(rules, trial).caught;
  if (!caught) return;
  const plan::Exclusion& rule = rules[caught->rule];
  const plan::Quantity& quantity = *plan::find_quantity(rule.quantity);
  trial.status = store::TrialStatus::disturbed;
  trial.reason = fmt::format("{} is {}, but the plan excludes trials with {}", rule.quantity,
                             caught->value, plan::describe(rule));
  trial.readings.push_back(counters::counted(std::string(rule_reading), "",
                                             static_cast<std::int64_t>(caught->rule + 1)));
  trial.readings.push_back(
      counters::counted(std::string(value_reading), std::string(quantity.unit), caught->value));
}

bool is_marked_right(std::span<const plan::Exclusion> rules, const store::Trial& trial) {
  const bool disturbed = trial.status == store::TrialStatus::disturbed;
  if (!disturbed && trial.status != store::TrialStatus::ok) return true;
  if (trial.warmup) return !disturbed;
  const auto caught = judge(rules, trial).caught;
  return caught.has_value() == disturbed && (!caught || rule_of(trial) == caught->rule);
}

std::optional<std::size_t> rule_of(const store::Trial& trial) {
  const counters::Reading* reading = find(trial.readings, rule_reading);
  if (reading == nullptr) return std::nullopt;
  const auto* number = std::get_if<std::int64_t>(&reading->value);
  if (number == nullptr || *number < 1) return std::nullopt;
  return static_cast<std::size_t>(*number - 1);
}

bool Tally::add(const store::Trial& trial, const std::string& cell) {
  const bool disturbed = trial.status == store::TrialStatus::disturbed;
  if (!disturbed && trial.status != store::TrialStatus::ok) return false;
  const std::vector<std::size_t> open = judge(plan_.exclude, trial).open;
  for (const std::size_t rule : open) ++rules_[rule].open;
  if (disturbed) {
    ++attempts_;
    lost_ += trial.last ? 1 : 0;
    if (const auto rule = rule_of(trial); rule && *rule < rules_.size()) ++rules_[*rule].caught;
  }
  if (position_ == trial.position) return false;
  position_ = trial.position;
  if (open.size() == rules_.size() && !disturbed) return true;
  Cell& its = cells_.try_emplace(cell, Cell{.number = static_cast<std::uint32_t>(cells_.size())})
                  .first->second;
  ++its.judged;
  its.disturbed += disturbed ? 1 : 0;
  const std::uint32_t stratum =
      strata_
          .try_emplace({trial.benchmark, trial.block}, static_cast<std::uint32_t>(strata_.size()))
          .first->second;
  first_.push_back({.stratum = stratum, .cell = its.number, .marked = disturbed});
  return true;
}

report::Exclusions Tally::result() const {
  report::Exclusions result{.disturbed = attempts_, .lost = lost_, .alpha = plan_.analysis.alpha};
  for (std::size_t i = 0; i < rules_.size(); ++i)
    result.rules.push_back({.when = plan::describe(plan_.exclude[i]),
                            .caught = rules_[i].caught,
                            .open = rules_[i].open});
  for (const auto& [name, cell] : cells_)
    result.cells.push_back({.name = name, .judged = cell.judged, .disturbed = cell.disturbed});
  const stats::Dependence dependence =
      stats::dependence_on_cell(first_, plan_.seed, plan_.analysis.alpha);
  result.p = dependence.p;
  return result;
}

}  // namespace stab::exclusion
