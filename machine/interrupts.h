// SPDX-License-Identifier: MIT
// Which CPUs serve the machine's devices, by what the kernel has counted since boot.
#pragma once

#include <string>
#include <string_view>

#include "machine/topology.h"

namespace stab::machine {

// Those that served more than ten interrupts of devices a second. `interrupts` is /proc/interrupts, `uptime` /proc/uptime;
// of a form that is not known nothing is said.
CpuSet cpus_of_devices(std::string_view interrupts, std::string_view uptime);

}  // namespace stab::machine
