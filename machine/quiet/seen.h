// SPDX-License-Identifier: MIT
// Examines which readings and events are available on a machine while trials run.
#pragma once

#include <string>
#include <vector>

#include "machine/quiet/doctor.h"
#include "machine/topology.h"

namespace stab::machine {

// Returns a finding for each source of a trial's readings that is missing, or a single finding if
// no source is missing. `root` is a prefix for /proc and /sys, for tests.
std::vector<Finding> missing_readings(const CpuSet& trial, const std::string& root = "");

// Whether this process, and so its trials, may count events. Tries that by opening an event, unless
// `root` is a test's folder.
Finding counting(const std::string& root = "");

}  // namespace stab::machine
