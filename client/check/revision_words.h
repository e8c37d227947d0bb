// SPDX-License-Identifier: MIT
// Which commits a plan compares.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace stab::client {

// "version old: commit 1a2b...", a line a level; none without revisions.
std::vector<std::string> revision_lines(const plan::Plan& plan);
nlohmann::ordered_json revisions_json(const plan::Plan& plan);

}  // namespace stab::client
