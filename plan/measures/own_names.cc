// SPDX-License-Identifier: MIT
#include "plan/measures/own_names.h"

#include <algorithm>
#include <array>

#include "plan/measures/builds.h"
#include "plan/measures/regions.h"
#include "plan/measures/simulated.h"

namespace stab::plan {
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
