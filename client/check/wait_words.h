// SPDX-License-Identifier: MIT
// The lines and JSON of `stabctl check` about waiting for a quiet machine.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace stab::client {

// One line, and a warning for each limit whose value this machine doesn't show. Empty if the plan
// does not wait.
std::vector<std::string> wait_lines(const plan::Plan& plan);

// The field of check's JSON with the same content; null if the plan does not wait.
nlohmann::ordered_json wait_json(const plan::Plan& plan);

}  // namespace stab::client
