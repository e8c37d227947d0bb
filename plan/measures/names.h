// SPDX-License-Identifier: MIT
// Names of readings that no plan defines: two of the build, and those of marked regions and of
// simulated trials. Tells which names a plan's own measures cannot have.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace stab::plan {

// Two readings of each trial are facts about its program that are known before it runs. They are
// the same in all trials of a build.

// The size of the program's code: the bytes of its loaded segments that may be executed.
inline constexpr std::string_view code_size = "code-size";
// The CPU time that the build's commands took when the program was built.
inline constexpr std::string_view compile_time = "compile-time";

constexpr bool is_of_builds(std::string_view reading) {
  return reading == code_size || reading == compile_time;
}

// Regions that programs mark by name (runtime/stabilizer.h). Each trial has two readings of a
// region: the time in it, "region-NAME-ns", and how often it was entered, "region-NAME-count".

// The runtime's limits. A test checks that both have the same values.
inline constexpr std::size_t max_region_name = 40;
inline constexpr std::size_t max_regions = 64;

// Whether the name has 1 to 40 letters, digits, '_', '.' and '-'.
bool is_region_name(std::string_view name);

std::string region_time(std::string_view region);
std::string region_count(std::string_view region);

// Returns the region whose reading has this name, or nothing if it is not the reading of a region.
std::optional<std::string_view> region_of(std::string_view reading);

// The readings of a trial under valgrind's cachegrind (measure.simulate): counts of the simulated
// program.
inline constexpr std::array<std::string_view, 7> simulated_names{
    "simulated-instructions", "simulated-data-accesses", "simulated-branches",
    "simulated-i1-misses",    "simulated-d1-misses",     "simulated-ll-misses",
    "simulated-branch-misses"};

bool is_simulated(std::string_view reading);

// Whether this number is measured by a clock or for a process. Under the simulator it would
// describe the simulator, so simulated trials don't have it.
bool is_of_real_runs(std::string_view name);

// A simulated trial gets this many times the plan's timeout and CPU time.
inline constexpr int simulator_slowdown = 100;

// Whether every trial or export has this name already. The tests of trials and of exports check
// that the list is complete.
bool is_own_name(std::string_view name);

}  // namespace stab::plan
