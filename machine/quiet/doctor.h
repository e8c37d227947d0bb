// SPDX-License-Identifier: MIT
// Examines how suitable a machine is for measurements, and how to improve it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "machine/quiet/knobs.h"
#include "machine/topology.h"

namespace stab::machine {

struct Finding {
  std::string name;
  Grade grade = Grade::good;
  std::string found;    // what was found
  std::string meaning;  // the consequence for measurements; "" if good
  // The remedy: a command or a kernel parameter. "" if none is needed or possible.
  std::string mend;
};

std::string_view to_string(Grade grade);

// Examines the machine for trials that use `trial_cpus` CPUs, and changes nothing. `root` is a
// prefix for /proc and /sys, for tests.
std::vector<Finding> examine(const Topology& topology, const std::string& root = "",
                             unsigned trial_cpus = 1);

// The grade of the worst finding.
Grade overall(std::span<const Finding> findings);

}  // namespace stab::machine
