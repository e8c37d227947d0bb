// SPDX-License-Identifier: MIT
#include "stats/data/slow_machines.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>

#include "stats/numbers/summary.h"

namespace stab::stats {
namespace {

constexpr std::size_t blocks_in_a_row = 3;
constexpr std::size_t fewest_others = 2;
const double least_bound = std::log(1.25);
constexpr double spreads = 2;

struct Machine {
  std::uint32_t code = 0;
  std::uint32_t kind = 0;
  // The mean logarithm of the control in each block that the machine ran, in order. NaN if the block
  // has no control, so that blocks of the same round keep the same place.
  std::vector<double> blocks{};
};

// Returns for each row whether it has a trial of the control.
std::vector<bool> rows_of_control(const Dataset& data, const Spec& spec) {
  std::vector<bool> rows(data.response.size(), !spec.treatments.empty());
  for (const std::string& name : spec.treatments) {
    const Column* const column = data.find(name);
    if (column == nullptr) return std::vector<bool>(rows.size(), false);
    const auto found = std::ranges::find(column->levels, spec.control);
    const bool has_control = !spec.control.empty() && found != column->levels.end();
    const auto wanted =
        has_control ? static_cast<std::uint32_t>(found - column->levels.begin()) : 0U;
    for (std::size_t row = 0; row < rows.size(); ++row)
      rows[row] = rows[row] && column->codes[row] == wanted;
  }
  return rows;
}

std::vector<Machine> machines_in(const Dataset& data, const Spec& spec) {
  const Column* const machine = data.find(spec.subject);
  const Column* const kind = data.find(spec.machine_kind);
  const Column* const block = data.find(spec.block);
  if (machine == nullptr || kind == nullptr || block == nullptr) return {};
  struct Sum {
    double of = 0;
    std::size_t n = 0;
  };
  std::map<std::uint32_t, std::map<std::uint32_t, Sum>> sums;  // by machine and block
  std::map<std::uint32_t, std::uint32_t> kinds;
  const auto place_of = [&](const Column* column) {
    return static_cast<std::size_t>(column - data.columns.data());
  };
  for (const Lost& trial : data.lost)
    sums[trial.codes[place_of(machine)]][trial.codes[place_of(block)]];
  const std::vector<bool> is_control = rows_of_control(data, spec);
  for (std::size_t row = 0; row < data.response.size(); ++row) {
    const double value = data.response[row] + data.centre;
    Sum& sum = sums[machine->codes[row]][block->codes[row]];
    // A machine without a kind is compared with none.
    if (!is_control[row] || !(value > 0) || kind->levels[kind->codes[row]].empty()) continue;
    sum.of += spec.higher_is_better ? -std::log(value) : std::log(value);
    ++sum.n;
    kinds[machine->codes[row]] = kind->codes[row];
  }
  std::vector<Machine> machines;
  for (const auto& [code, blocks] : sums) {
    const auto known = kinds.find(code);
    if (known == kinds.end()) continue;
    Machine one{.code = code, .kind = known->second};
    for (const auto& [number, sum] : blocks)
      one.blocks.push_back(sum.n == 0 ? std::numeric_limits<double>::quiet_NaN()
                                      : sum.of / static_cast<double>(sum.n));
    machines.push_back(std::move(one));
  }
  return machines;
}

// Returns by how much each block of `machine` is slower than the same block of the others, where at
// least two of them have it.
std::vector<double> relative_to(const Machine& machine, const std::vector<const Machine*>& others) {
  std::vector<double> relative;
  for (std::size_t i = 0; i < machine.blocks.size(); ++i) {
    std::vector<double> values;
    for (const Machine* other : others)
      if (i < other->blocks.size() && !std::isnan(other->blocks[i]))
        values.push_back(other->blocks[i]);
    if (std::isnan(machine.blocks[i])) continue;
    if (values.size() >= fewest_others) relative.push_back(machine.blocks[i] - median(values));
  }
  return relative;
}

// The deviation that a tenth of the others' blocks exceed. The slowest of them doesn't count, because
// it may be out of order, too.
double spread_of(const std::vector<const Machine*>& others) {
  std::vector<std::vector<double>> of_each;
  for (const Machine* other : others) {
    of_each.push_back(relative_to(*other, others));
    if (of_each.back().empty()) of_each.pop_back();
  }
  std::ranges::sort(of_each, {}, [](const std::vector<double>& each) { return median(each); });
  if (of_each.size() > fewest_others) of_each.pop_back();
  std::vector<double> deviations;
  for (const std::vector<double>& each : of_each)
    for (const double value : each) deviations.push_back(std::abs(value));
  std::ranges::sort(deviations);
  return deviations.empty() ? 0 : sorted_quantile(deviations, 0.9);
}

// Returns by how much the machine is slower than the others, or nothing if it is not slow.
std::optional<double> slowness(const Machine& machine, const std::vector<const Machine*>& others) {
  const std::vector<double> relative = relative_to(machine, others);
  const double bound = std::max(least_bound, spreads * spread_of(others));
  const auto is_above = [&](double value) { return value > bound; };
  for (std::size_t i = 0; i + blocks_in_a_row <= relative.size(); ++i) {
    const std::span<const double> rest = std::span(relative).subspan(i);
    const auto above = std::ranges::count_if(rest, is_above);
    if (std::ranges::all_of(rest.first(blocks_in_a_row), is_above) &&
        3 * static_cast<std::size_t>(above) >= 2 * rest.size())
      return median(rest);
  }
  return std::nullopt;
}

}  // namespace

std::vector<SlowMachine> slow_machines(const Dataset& data, const Spec& spec) {
  std::vector<SlowMachine> slow;
  if (!spec.machines || spec.machine_kind.empty() || !data.is_valid()) return slow;
  std::map<std::uint32_t, std::vector<Machine>> kinds;
  for (Machine& machine : machines_in(data, spec))
    kinds[machine.kind].push_back(std::move(machine));
  for (const auto& [kind, machines] : kinds) {
    std::vector<SlowMachine> of_kind;
    for (const Machine& machine : machines) {
      std::vector<const Machine*> others;
      for (const Machine& other : machines)
        if (&other != &machine) others.push_back(&other);
      if (const auto by = slowness(machine, others))
        of_kind.push_back(
            {.name = data.find(spec.subject)->levels[machine.code], .times = std::exp(*by)});
    }
    if (2 * of_kind.size() <= machines.size())
      slow.insert(slow.end(), of_kind.begin(), of_kind.end());
  }
  return slow;
}

Dataset without_machines(const Dataset& data, const Spec& spec,
                         const std::vector<SlowMachine>& machines) {
  const Column& column = *data.find(spec.subject);
  const auto place = static_cast<std::size_t>(&column - data.columns.data());
  std::vector<bool> stays(column.levels.size(), true);
  // Another response may have no number of the machine.
  for (std::size_t level = 0; level < column.levels.size(); ++level)
    stays[level] =
        std::ranges::find(machines, column.levels[level], &SlowMachine::name) == machines.end();
  Dataset rest = data;
  rest.response.clear();
  for (Column& each : rest.columns) each.codes.clear();
  for (std::size_t row = 0; row < data.response.size(); ++row) {
    if (!stays[column.codes[row]]) continue;
    rest.response.push_back(data.response[row]);
    for (std::size_t i = 0; i < rest.columns.size(); ++i)
      rest.columns[i].codes.push_back(data.columns[i].codes[row]);
  }
  std::erase_if(rest.lost, [&](const Lost& trial) { return !stays[trial.codes[place]]; });
  return rest;
}

}  // namespace stab::stats
