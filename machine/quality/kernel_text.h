// SPDX-License-Identifier: MIT
// Numbers out of what the kernel shows as text. A form that is not known is an error with a reason
// in plain words, never a 0.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "machine/topology.h"

namespace stab::machine {

using Value = std::expected<std::int64_t, std::string>;

// A whole number on a line of its own.
Value number_in(std::string_view text);

// "some avg10=0.00 .. total=N": how long any task has waited, in ns.
Value waited_in(std::string_view pressure);

// Of /proc/stat: the time that the host took from these CPUs, and the time that the others were
// busy, in ns. `ticks`: of the kernel, a second.
Value stolen_in(std::string_view stat, const CpuSet& cpus, std::int64_t ticks);
Value others_busy_in(std::string_view stat, const CpuSet& cpus, std::int64_t ticks);

// Of /proc/stat: for how long these CPUs were busy, and all others together, of which there are
// `others`; and for how long the host took them from what had something to run, which is not in it.
struct Busy {
  std::int64_t trial_ns = 0;
  std::int64_t trial_stolen_ns = 0;
  std::int64_t others_ns = 0;
  std::int64_t others_stolen_ns = 0;
  std::size_t others = 0;
};
std::expected<Busy, std::string> busy_in(std::string_view stat, const CpuSet& cpus,
                                         std::int64_t ticks);

// The sum of these CPUs' columns in a table like /proc/interrupts, whose first line names them.
Value sum_of_columns(std::string_view table, const CpuSet& cpus);

}  // namespace stab::machine
