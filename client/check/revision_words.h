// SPDX-License-Identifier: MIT
// The lines and JSON of `stabctl check` about the commits that a plan compares.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace stab::client {

// One line for each level with a revision: "version old: commit 1a2b..."
std::vector<std::string> revision_lines(const plan::Plan& plan);
nlohmann::ordered_json revisions_json(const plan::Plan& plan);

}  // namespace stab::client
