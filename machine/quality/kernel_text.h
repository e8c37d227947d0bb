// SPDX-License-Identifier: MIT
// Parses numbers from the kernel's text files. An unknown format is an error with a reason in plain
// words, never a 0.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "machine/topology.h"

namespace stab::machine {

using Value = std::expected<std::int64_t, std::string>;

// Parses a line that holds only a whole number.
Value number_in(std::string_view text);

// Parses "some avg10=0.00 .. total=N": for how long at least one task has waited, in ns.
Value waited_in(std::string_view pressure);

// From /proc/stat: the time that the host took from these CPUs, and the time that the other CPUs
// were busy, in ns. `ticks` is the kernel's number of ticks per second.
Value stolen_in(std::string_view stat, const CpuSet& cpus, std::int64_t ticks);
Value others_busy_in(std::string_view stat, const CpuSet& cpus, std::int64_t ticks);

// From /proc/stat: the time for which the trial's CPUs were busy, and the time for which all other
// CPUs were, whose number is `others`. The time that the host took from CPUs that had something to
// run is separate, and not included in the busy time.
struct Busy {
  std::int64_t trial_ns = 0;
  std::int64_t trial_stolen_ns = 0;
  std::int64_t others_ns = 0;
  std::int64_t others_stolen_ns = 0;
  std::size_t others = 0;
};
std::expected<Busy, std::string> busy_in(std::string_view stat, const CpuSet& cpus,
                                         std::int64_t ticks);

// The sum of these CPUs' columns in a table like /proc/interrupts, whose first line names the
// columns.
Value sum_of_columns(std::string_view table, const CpuSet& cpus);

}  // namespace stab::machine
