// SPDX-License-Identifier: MIT
// What of a machine can be seen and counted while trials run.
#pragma once

#include <string>
#include <vector>

#include "machine/quiet/doctor.h"
#include "machine/topology.h"

namespace stab::machine {

// A finding for each source of a trial's readings that is missing here; one that says so if none is.
// `root` stands before /proc and /sys, for tests.
std::vector<Finding> missing_readings(const CpuSet& trial, const std::string& root = "");

// Whether this process, and with it its trials, may count events. A folder that stands for a machine
// is believed; of the machine itself an event is opened.
Finding counting(const std::string& root = "");

}  // namespace stab::machine
