// SPDX-License-Identifier: MIT
// The simulated data as a CSV file, given to 'stabctl analyze': what is simulated here is what
// users get.
#pragma once

#include <cstddef>
#include <string>

#include "bench/verdicts/lines.h"
#include "stats/data/spec.h"

namespace stab::bench {

// How many of so many experiments the command sees otherwise than the functions do: verdicts,
// ratios and intervals of all deciding comparisons. Prints a line.
int compare_through(const std::string& stabctl, const Line& line, const stats::Spec& spec,
                    std::size_t experiments);

}  // namespace stab::bench
