// SPDX-License-Identifier: MIT
// The simulated data as a CSV file, given to 'stabctl analyze': what is simulated here is what
// users get.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bench/verdicts/lines.h"
#include "stats/data/dataset.h"
#include "stats/data/spec.h"
#include "stats/verdicts/analysis.h"

namespace stab::bench {

// How many of so many experiments the command sees otherwise than the functions do: verdicts,
// ratios and intervals of all deciding comparisons. Prints a line.
int compare_through(const std::string& stabctl, const Line& line, const stats::Spec& spec,
                    std::size_t experiments);

// The effects that 'stabctl analyze' prints of the data: scope, ratio, interval and verdict of each.
// Nothing if it fails. Its file is in `folder`.
std::optional<std::vector<stats::Effect>> effects_through(const std::string& stabctl,
                                                          const std::string& folder,
                                                          const Line& line, const stats::Spec& spec,
                                                          const stats::Dataset& data);

// Whether 'stabctl analyze' can be asked for the line: designs of plans and stopping rules are not
// in a table.
bool has_command(const Line& line);

}  // namespace stab::bench
