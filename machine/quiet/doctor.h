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

// "fair for measurements: smt (on), ...", with all findings that are not good, the poor ones first.
std::string summary(std::span<const Finding> findings);

// Says what this kernel is too old for in programs that szc built, as a sentence without its
// period. Returns "" if it is new enough, or if its version is not known. `root` is a prefix for
// /proc, for tests.
std::string limit_of_kernel(const std::string& root = "");

// Whether this process may change the machine's settings, in the order of increasing obstacles.
enum class Access {
  allowed,
  others,     // only processes with other rights may, usually root's
  nobody,     // we are root, but without the rights of the machine's root, as in a user namespace
  read_only,  // it is mounted read-only, as in a container
};

// The right to write this file.
Access access_to(const std::string& path);

// The command, with sudo if we are not root.
std::string as_root(const std::string& command);

// Tells the user how to set the file, which is below `root` in tests, to this value. `command` is a
// command that does that, or "".
std::string way_to_set(const std::string& file, const std::string& value, const std::string& root,
                       const std::string& command = "");

// Returns a finding for each source of a trial's readings that is missing, or a single finding if
// no source is missing. `root` is a prefix for /proc and /sys, for tests.
std::vector<Finding> missing_readings(const CpuSet& trial, const std::string& root = "");

// Whether this process, and so its trials, may count events. Tries that by opening an event, unless
// `root` is a test's folder.
Finding counting(const std::string& root = "");

}  // namespace stab::machine
