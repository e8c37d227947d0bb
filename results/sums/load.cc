// SPDX-License-Identifier: MIT
#include "results/sums/load.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace stab::results {
namespace {

std::optional<std::int64_t> count_of(const store::Trial& trial, std::string_view name) {
  const auto found = std::ranges::find(trial.readings, name, &counters::Reading::name);
  if (found == trial.readings.end() || found->status == counters::Status::absent)
    return std::nullopt;
  const auto* value = std::get_if<std::int64_t>(&found->value);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

// A program that sleeps or waits for a file gives up its CPU itself, so its wall time can't tell
// whether others kept it waiting.
std::optional<bool> was_kept_waiting(const store::Trial& trial) {
  constexpr std::int64_t few = 10;
  constexpr double much = 0.05;
  constexpr double start_and_end_ns = 2e6;
  const auto own = count_of(trial, "context-switches-voluntary");
  if (!own || *own > few || !trial.wall_ns || !trial.user_ns || !trial.system_ns)
    return std::nullopt;
  const double cpu = static_cast<double>(*trial.user_ns) + static_cast<double>(*trial.system_ns);
  return static_cast<double>(*trial.wall_ns) > (1 + much) * cpu + start_and_end_ns;
}

}  // namespace

void LoadCounter::add(const store::Trial& trial) {
  if (!trial.wall_ns || *trial.wall_ns <= 0) return;
  // The kernel charges whole ticks, and reading the counts before and after a trial takes time,
  // too. Without this tick, a short trial could seem to share the machine with more CPUs than there
  // are.
  constexpr double tick_ns = 1e7;
  constexpr double many_ticks = 10;
  auto wall = static_cast<double>(*trial.wall_ns);
  if (wall < many_ticks * tick_ns) wall += tick_ns;
  const auto add_share = [&](Share& share, std::string_view name) {
    const auto part = count_of(trial, name);
    if (!part) return;
    share.part_ns += static_cast<double>(*part);
    share.wall_ns += wall;
  };
  add_share(others_, "other-cpus-busy-ns");
  add_share(stolen_, "steal-ns");
  if (const auto waiting = was_kept_waiting(trial)) {
    ++load_.known;
    load_.kept_waiting += *waiting ? 1 : 0;
  }
}

report::Load LoadCounter::result() const {
  report::Load load = load_;
  if (others_.wall_ns > 0) load.others = others_.part_ns / others_.wall_ns;
  if (stolen_.wall_ns > 0) load.stolen = stolen_.part_ns / stolen_.wall_ns;
  return load;
}

}  // namespace stab::results
