// SPDX-License-Identifier: MIT
// Valgrind's cachegrind runs a program on a simulated CPU and counts events. The program's output
// and exit code stay the same, but it takes 20 to 100 times as long.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "counters/readings.h"
#include "machine/processes.h"

namespace stab::machine {

// Finds valgrind in a list of folders in the format of PATH. The error says how to install it.
Result<std::string> find_simulator(const std::string& path);

// The version that the simulator prints, such as "valgrind-3.19.0", or "".
std::string simulator_version(const std::string& simulator, Containment containment);

// The simulated caches, in words. They are the same on all machines, because the caches that
// cachegrind would detect depend on what a hypervisor shows of the host.
inline constexpr std::string_view simulated_caches =
    "I1 and D1: 32 KiB, 8 ways; LL: 8 MiB, 16 ways; lines of 64 bytes";

// The command that runs `argv` under the simulator at this path. The simulator writes its counts
// and its log to these files.
std::vector<std::string> simulated(const std::string& simulator, const std::string& counts,
                                   const std::string& log, const std::vector<std::string>& argv);

inline constexpr std::size_t max_counts_bytes = std::size_t{64} << 20;
inline constexpr std::size_t max_simulator_log = std::size_t{1} << 20;

// Returns a reading for each simulated measure (plan/measures/names.h), from the texts of the
// two files, which may have any content. `own` is the program's pid. The readings are absent, with
// a reason, if the simulator was killed or if there were other processes: cachegrind counts each
// process separately, and the counts of a forked process include those of its parent.
std::vector<counters::Reading> simulated_readings(std::string_view counts, std::string_view log,
                                                  int own);

}  // namespace stab::machine
