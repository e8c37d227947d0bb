// SPDX-License-Identifier: MIT
// Examines how a cluster's own settings disturb measurements on its nodes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "machine/quiet/doctor.h"

namespace stab::cluster {

// Reads the outputs of 'scontrol show config' and 'scontrol --oneliner show node'. Each finding
// that is not good names the line of slurm.conf that mends it. A setting that the output lacks
// counts as the one that disturbs.
std::vector<machine::Finding> findings_in(std::string_view config, std::string_view nodes);

// A partition is one name or several, as in machines.partition: "a,b".

// The state of each node of the partition (of all if that is ""), with the reason if the cluster
// names one, from the second output: "IDLE", "IDLE+DRAIN (the disk is full)".
std::map<std::string, std::string> states_in(std::string_view nodes,
                                             std::string_view partition = "");

// Says that fewer than `wanted` of these nodes can run jobs, and what to change; "" if enough can.
// `states` is what states_in() returns for the partition.
std::string shortage_in(const std::map<std::string, std::string>& states, std::size_t wanted,
                        std::string_view partition);

// How many of these nodes a plan gets that takes `least` to `most` of them: as many as are idle,
// within these bounds.
std::size_t nodes_for(const std::map<std::string, std::string>& states, std::size_t least,
                      std::size_t most);

// The cluster's default partition, as 'scontrol --oneliner show partition' says, or "".
std::string default_partition_in(std::string_view partitions);

// The time limit of jobs that ask for none, from the same output: "01:00:00", "UNLIMITED". "" if
// there is no such partition, and "01:00:00 or UNLIMITED" if several partitions differ. A partition
// "" is the cluster's default.
std::string time_limit_in(std::string_view partitions, std::string_view partition);

// These ask the cluster's controller. A partition "" is the cluster's default, or all nodes if
// Slurm does not say which one that is.
Result<std::map<std::string, std::string>> all_node_states();
Result<std::map<std::string, std::string>> node_states(std::string_view partition);
Result<std::string> time_limit(std::string_view partition);
Result<std::vector<machine::Finding>> examine_cluster();

}  // namespace stab::cluster
