// SPDX-License-Identifier: MIT
// Valgrind's cachegrind: a program runs on a simulated CPU, which counts what it does. It changes
// neither what the program prints nor how it ends, and takes 20 to 100 times as long.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "counters/reading.h"
#include "machine/processes.h"

namespace stab::machine {

// The path of valgrind in a list of folders as PATH has it. The error says how to install it.
Result<std::string> find_simulator(const std::string& path);

// What it says of its version, as "valgrind-3.19.0"; "" if it says nothing.
std::string simulator_version(const std::string& simulator, Containment containment);

// The caches, in words. They are the same on all machines: what cachegrind finds out by itself
// depends on what a hypervisor shows of the host's.
inline constexpr std::string_view simulated_caches =
    "I1 and D1 of 32 KiB and 8 ways, LL of 8 MiB and 16 ways, lines of 64 bytes";

// The command that runs `argv` under the simulator at this path, which writes its counts and what it
// says of itself to these files.
std::vector<std::string> simulated(const std::string& simulator, const std::string& counts,
                                   const std::string& log, const std::vector<std::string>& argv);

inline constexpr std::size_t max_counts_bytes = std::size_t{64} << 20;
inline constexpr std::size_t max_simulator_log = std::size_t{1} << 20;

// A reading for each of these names (plan/measures/simulated.h), of the files' texts, which are
// anybody's. `own` is the pid of the program. They are absent, with the reason, if the simulator was
// killed, or if the program was not the only one: cachegrind counts each process for itself, and
// one that was forked off counts what its parent did once more.
std::vector<counters::Reading> simulated_readings(std::string_view counts, std::string_view log,
                                                  int own);

}  // namespace stab::machine
