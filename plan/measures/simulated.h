// SPDX-License-Identifier: MIT
// What a trial has under valgrind's cachegrind (measure.simulate): counts of the simulated program,
// each a reading.
#pragma once

#include <array>
#include <string_view>

namespace stab::plan {

inline constexpr std::array<std::string_view, 7> simulated_names{
    "simulated-instructions", "simulated-data-accesses", "simulated-branches",
    "simulated-i1-misses",    "simulated-d1-misses",     "simulated-ll-misses",
    "simulated-branch-misses"};

bool is_simulated(std::string_view reading);

// A number that each trial measures by a clock or of a process, which under the simulator would be
// the simulator's: no trial there has it.
bool is_of_real_runs(std::string_view name);

// A simulated trial gets so many times the plan's timeout and CPU time.
inline constexpr int simulator_slowdown = 100;

}  // namespace stab::plan
