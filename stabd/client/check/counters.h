// SPDX-License-Identifier: MIT
// What `stabctl check` says of the events that a plan counts and of its own measures.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "counters/reading.h"
#include "plan/plan.h"

namespace stab::client {

// Those of the plan's counters that no trial on this machine can count, with the reason. Gives up
// root's rights if the trials have none. A name that is none is an error.
Result<std::vector<counters::Reading>> lacking_counters(const plan::Plan& plan);

std::vector<std::string> counter_lines(const plan::Plan& plan,
                                       const std::vector<counters::Reading>& lacking);
nlohmann::ordered_json counters_json(const plan::Plan& plan,
                                     const std::vector<counters::Reading>& lacking);

// What is compared beside the response, read of the programs' output, and computed.
std::vector<std::string> measure_lines(const plan::Plan& plan);
nlohmann::ordered_json measures_json(const plan::Plan& plan);

}  // namespace stab::client
