// SPDX-License-Identifier: MIT
// What a worker learns from its environment: how it is contained, and the mark by which its
// processes are found after a crash where there are no pid namespaces.
#pragma once

#include <string>

#include "machine/processes.h"

namespace stab::protocol {

inline constexpr const char* scope_variable = "STABD_SCOPE";
inline constexpr const char* marker_variable = "STABD_TRIAL_OF";

std::string scope_entry(machine::Scope scope);  // "NAME=value"
machine::Scope scope_from_environment();

// "NAME=value", or "" if there is none. `token` names the database.
std::string marker_entry(const std::string& token);
std::string marker_from_environment();

}  // namespace stab::protocol
