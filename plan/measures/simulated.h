// SPDX-License-Identifier: MIT
// The readings of a trial under valgrind's cachegrind (measure.simulate): counts of the simulated
// program.
#pragma once

#include <array>
#include <string_view>

namespace stab::plan {

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

}  // namespace stab::plan
