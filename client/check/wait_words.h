// SPDX-License-Identifier: MIT
// What `stabctl check` says of waiting for a quiet machine.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace stab::client {

// A line, and a warning of each bound that this machine does not show; none if the plan does not
// wait.
std::vector<std::string> wait_lines(const plan::Plan& plan);

// The field of check's JSON that tells the same; null if the plan does not wait.
nlohmann::ordered_json wait_json(const plan::Plan& plan);

}  // namespace stab::client
