// SPDX-License-Identifier: MIT
// What a worker learns from its environment: how it is contained, and the mark by which its
// processes are found after a crash where there are no pid namespaces.
#pragma once

#include <string>

#include "machine/processes.h"

namespace stab::protocol {

inline constexpr const char* containment_name = "STABD_SCOPE";
inline constexpr const char* marker_name = "STABD_TRIAL_OF";

std::string containment_variable(machine::Containment containment);  // "NAME=value"
machine::Containment containment_from_environment();

// "NAME=value", or "" if there is none. `token` names the database.
std::string marker_variable(const std::string& token);
std::string marker_from_environment();

}  // namespace stab::protocol
