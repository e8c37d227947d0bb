// SPDX-License-Identifier: MIT
// The environment variables that tell a worker how it is contained, and the mark by which its
// processes are found after a crash on a machine without pid namespaces.
#pragma once

#include <string>

#include "machine/processes.h"

namespace stab::protocol {

inline constexpr const char* containment_name = "STABD_SCOPE";
inline constexpr const char* marker_name = "STABD_TRIAL_OF";

std::string containment_variable(machine::Containment containment);  // "NAME=value"
machine::Containment containment_from_environment();

// "NAME=value". `token` names the database. marker_from_environment() returns "" if the variable is
// not set.
std::string marker_variable(const std::string& token);
std::string marker_from_environment();

}  // namespace stab::protocol
