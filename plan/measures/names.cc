// SPDX-License-Identifier: MIT

#include "plan/measures/names.h"

#include <algorithm>

namespace stab::plan {
namespace {

constexpr std::string_view before = "region-";
constexpr std::string_view behind_time = "-ns";
constexpr std::string_view behind_count = "-count";

bool is_in_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

}  // namespace

bool is_region_name(std::string_view name) {
  return !name.empty() && name.size() <= max_region_name && std::ranges::all_of(name, is_in_name);
}

std::string region_time(std::string_view region) {
  return std::string(before).append(region).append(behind_time);
}

std::string region_count(std::string_view region) {
  return std::string(before).append(region).append(behind_count);
}

std::optional<std::string_view> region_of(std::string_view reading) {
  if (!reading.starts_with(before)) return std::nullopt;
  reading.remove_prefix(before.size());
  for (const std::string_view behind : {behind_time, behind_count})
    if (reading.ends_with(behind)) {
      reading.remove_suffix(behind.size());
      return is_region_name(reading) ? std::optional(reading) : std::nullopt;
    }
  return std::nullopt;
}

namespace {

constexpr std::array<std::string_view, 8> of_real_runs{
    "wall", "user", "system", "cpu", "relative_cpu", "max_rss", "main_to_exit", "region"};

}  // namespace

bool is_simulated(std::string_view reading) {
  return std::ranges::find(simulated_names, reading) != simulated_names.end();
}

bool is_of_real_runs(std::string_view name) {
  const auto region = region_of(name);
  return (region && name == region_time(*region)) ||
         std::ranges::find(of_real_runs, name) != of_real_runs.end();
}

namespace {

// clang-format off
constexpr std::array names = std::to_array<std::string_view>({
    // columns of exports
    "position", "attempt", "last", "block", "warmup", "benchmark", "seed", "status", "reason", "exit_code", "signal",
    "started_ns", "wall_ns", "user_ns", "system_ns", "max_rss_bytes", "stdout_sha256", "build",
    // reported by the runtime that szc links into programs
    "randomized", "randomization", "layout_note", "layout_seed", "epochs", "given_up", "epochs_ns", "longest_pause_ns",
    "functions", "moved_functions", "text_bytes", "moved_bytes", "setup_ns", "main_to_exit_ns", "region_ns", "regions",
    "heap_operations", "heap_bytes", "heap_fixed_bytes",
    // readings
    "page-faults-minor", "page-faults-major", "context-switches-voluntary", "context-switches-involuntary",
    "leftover-processes", "cpu-migrations", "interrupts", "softirqs", "throttled", "steal-ns", "other-cpus-busy-ns",
    "memory-pressure-ns", "frequency-before-khz", "frequency-after-khz", "temperature-before-c", "temperature-after-c",
    "clocksource-changes", "spawn-ns", "commit-before-ns", "quiet-wait-ns", "quiet-wait-in-vain",
    "reports-beside-ns", "beside-cpu-ns"});
// clang-format on

}  // namespace

bool is_own_name(std::string_view name) {
  // Exports have the status of each reading in a column beside it.
  return name.ends_with(".status") || region_of(name) || is_simulated(name) || is_of_builds(name) ||
         std::ranges::find(names, name) != names.end();
}

}  // namespace stab::plan
