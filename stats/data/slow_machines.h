// SPDX-License-Identifier: MIT
// Finds machines that are out of order: those on which the control takes much longer than on the
// other machines of their kind. A machine of another kind may be slower.
#pragma once

#include <string>
#include <vector>

#include "stats/data/dataset.h"
#include "stats/data/spec.h"

namespace stab::stats {

struct SlowMachine {
  std::string name{};
  double times = 1;  // as long as on the other machines of its kind
};

// A machine is slow if its control takes longer than a bound in each of three blocks in a row. The
// bound is a quarter above the median of at least two other machines of its kind, or three standard
// deviations if that is more: of blocks and of machines. The control is the spec's, or else the
// baseline of all treatments. If spec.machine_kind is "", no machine is slow.
std::vector<SlowMachine> slow_machines(const Dataset& data, const Spec& spec);

// The data of all other machines.
Dataset without_machines(const Dataset& data, const Spec& spec,
                         const std::vector<SlowMachine>& machines);

}  // namespace stab::stats
