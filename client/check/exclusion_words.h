// SPDX-License-Identifier: MIT
// What `stabctl check` says of the rules that exclude trials.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "counters/reading.h"
#include "plan/plan.h"

namespace stab::client {

// What a trial would read on this machine, as to whether each reading is there.
std::vector<counters::Reading> readings_here();

// A line each; warnings of rules that cannot be judged from these readings included. None without
// rules.
std::vector<std::string> exclusion_lines(const plan::Plan& plan,
                                         std::span<const counters::Reading> here);

// The field of check's JSON that tells the same; null without rules.
nlohmann::ordered_json exclusion_json(const plan::Plan& plan,
                                      std::span<const counters::Reading> here);

}  // namespace stab::client
