// SPDX-License-Identifier: MIT
// Finds machines that are out of order: those on which the control takes much longer than on the
// other machines of their kind. A machine of another kind may be slower.
#pragma once

#include <vector>

#include "stats/data/dataset.h"
#include "stats/data/spec.h"

namespace stab::stats {

// Each block of a machine is compared with the blocks of the same number on the others of its kind,
// so that what slows all machines down at one time counts for none. A machine is slow if its control
// takes longer than a bound in three blocks in a row, and in two thirds of the blocks from then on.
// The bound is a quarter above the median of at least two others, or more if they differ much from
// each other: twice the deviation that a tenth of their blocks exceed. The control is the spec's, or
// else the baseline of all treatments. If more than half of a kind would be slow, none of it is. If
// spec.machine_kind is "", no machine is slow.
std::vector<SlowMachine> slow_machines(const Dataset& data, const Spec& spec);

// The data of all other machines.
Dataset without_machines(const Dataset& data, const Spec& spec,
                         const std::vector<SlowMachine>& machines);

}  // namespace stab::stats
