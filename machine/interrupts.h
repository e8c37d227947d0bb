// SPDX-License-Identifier: MIT
// Finds the CPUs that serve the machine's devices, from the kernel's counts since boot.
#pragma once

#include <string>
#include <string_view>

#include "machine/topology.h"

namespace stab::machine {

// The CPUs that served more than ten interrupts of devices per second. `interrupts` is the text of
// /proc/interrupts, and `uptime` that of /proc/uptime. Empty if their format is unknown.
CpuSet cpus_of_devices(std::string_view interrupts, std::string_view uptime);

}  // namespace stab::machine
