// SPDX-License-Identifier: MIT
// The lines and JSON of `stabctl check` about the rules that exclude trials.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "counters/reading.h"
#include "plan/plan.h"

namespace stab::client {

// The readings of a trial on this machine. They show only which readings are absent here.
std::vector<counters::Reading> readings_here();

// Describes the rules, and warns about rules that can't be applied to these readings. Empty if the
// plan has no rules.
std::vector<std::string> exclusion_lines(const plan::Plan& plan,
                                         std::span<const counters::Reading> here);

// The field of check's JSON with the same content; null if the plan has no rules.
nlohmann::ordered_json exclusion_json(const plan::Plan& plan,
                                      std::span<const counters::Reading> here);

}  // namespace stab::client
