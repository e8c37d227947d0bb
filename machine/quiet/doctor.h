// SPDX-License-Identifier: MIT
// What a machine can and cannot do for measurements, and what would mend it.
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
  std::string found;    // what is there
  std::string meaning;  // what it means to a measurement; "" if it is good
  // A command or a parameter of the kernel; "" if there is nothing to mend, or nothing to be done.
  std::string mend;
};

std::string_view to_string(Grade grade);

// Looks and changes nothing. `root` stands before /proc and /sys, for tests. For trials that use so
// many CPUs.
std::vector<Finding> examine(const Topology& topology, const std::string& root = "",
                             unsigned trial_cpus = 1);

// That of the worst finding.
Grade overall(std::span<const Finding> findings);

}  // namespace stab::machine
