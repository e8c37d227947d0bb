// SPDX-License-Identifier: MIT
#include "stats/data/slow_machines.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "stats/numbers/order.h"

namespace stab::stats {
namespace {

constexpr std::size_t blocks_in_a_row = 3;
constexpr std::size_t fewest_others = 2;
const double least_bound = std::log(1.25);
constexpr double spreads = 3;
constexpr double normal_mad = 1.4826;  // standard deviations for each median absolute deviation

struct Machine {
  std::uint32_t code = 0;
  std::uint32_t kind = 0;
  std::vector<double> blocks{};  // the mean logarithm of the control in each block, in order
  double centre = 0;             // their median
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
  const std::vector<bool> is_control = rows_of_control(data, spec);
  for (std::size_t row = 0; row < data.response.size(); ++row) {
    const double value = data.response[row] + data.centre;
    // A machine without a kind is compared with none.
    if (!is_control[row] || !(value > 0) || kind->levels[kind->codes[row]].empty()) continue;
    Sum& sum = sums[machine->codes[row]][block->codes[row]];
    sum.of += spec.higher_is_better ? -std::log(value) : std::log(value);
    ++sum.n;
    kinds[machine->codes[row]] = kind->codes[row];
  }
  std::vector<Machine> machines;
  for (const auto& [code, blocks] : sums) {
    Machine one{.code = code, .kind = kinds[code]};
    for (const auto& [number, sum] : blocks)
      one.blocks.push_back(sum.of / static_cast<double>(sum.n));
    one.centre = median(one.blocks);
    machines.push_back(std::move(one));
  }
  return machines;
}

double deviation_of(std::span<const double> values, double centre) {
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - centre));
  return normal_mad * median(distances);
}

// By how much the machine is slower than the others, or nothing if it is not slow.
std::optional<double> slowness(const Machine& machine, const std::vector<Machine>& all) {
  std::vector<double> centres;
  std::vector<double> deviations;  // of blocks, each from its machine's centre
  for (const Machine& other : all) {
    if (other.code == machine.code || other.kind != machine.kind) continue;
    centres.push_back(other.centre);
    for (const double value : other.blocks) deviations.push_back(value - other.centre);
  }
  if (centres.size() < fewest_others) return std::nullopt;
  const double centre = median(centres);
  const double spread = std::hypot(deviation_of(deviations, 0), deviation_of(centres, centre));
  const double bound = centre + std::max(least_bound, spreads * spread);
  std::size_t in_a_row = 0;
  for (std::size_t i = 0; i < machine.blocks.size(); ++i) {
    in_a_row = machine.blocks[i] > bound ? in_a_row + 1 : 0;
    if (in_a_row < blocks_in_a_row) continue;
    return median(std::span(machine.blocks).subspan(i + 1 - blocks_in_a_row)) - centre;
  }
  return std::nullopt;
}

}  // namespace

std::vector<SlowMachine> slow_machines(const Dataset& data, const Spec& spec) {
  std::vector<SlowMachine> slow;
  if (!spec.machines || spec.machine_kind.empty() || !data.is_valid()) return slow;
  const std::vector<Machine> machines = machines_in(data, spec);
  for (const Machine& machine : machines)
    if (const auto by = slowness(machine, machines))
      slow.push_back(
          {.name = data.find(spec.subject)->levels[machine.code], .times = std::exp(*by)});
  return slow;
}

Dataset without_machines(const Dataset& data, const Spec& spec,
                         const std::vector<SlowMachine>& machines) {
  const Column& column = *data.find(spec.subject);
  const auto place = static_cast<std::size_t>(&column - data.columns.data());
  std::vector<bool> stays(column.levels.size(), true);
  for (const SlowMachine& machine : machines)
    stays[static_cast<std::size_t>(std::ranges::find(column.levels, machine.name) -
                                   column.levels.begin())] = false;
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
