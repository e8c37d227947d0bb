// SPDX-License-Identifier: MIT
// The environment variables that tell a worker how it is contained, and the mark by which its
// processes are found after a crash on a machine without pid namespaces.
#pragma once

#include <string>
#include <vector>

#include "machine/processes.h"

namespace stab::protocol {

inline constexpr const char* containment_name = "STABD_SCOPE";
inline constexpr const char* marker_name = "STABD_TRIAL_OF";
// On a node of a cluster: the cluster's name for the node.
inline constexpr const char* node_name = "STABD_NODE";

std::string containment_variable(machine::Containment containment);  // "NAME=value"
machine::Containment containment_from_environment();

// The whole environment of a worker.
std::vector<std::string> worker_environment(machine::Containment containment,
                                            const std::string& token);

// "NAME=value". `token` names the database. marker_from_environment() returns "" if the variable is
// not set.
std::string marker_variable(const std::string& token);
std::string marker_from_environment();

}  // namespace stab::protocol
