// SPDX-License-Identifier: MIT
// What an experiment of `stabctl ab` says, in a sentence a version.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "stats/verdicts/decide.h"

namespace stab::client {

struct Conclusion {
  std::vector<std::string> sentences;
  bool control_differs = false;  // this machine sees a change where there is none
  // Of the versions alone. Unsure, too, where the control differs.
  stats::Findings findings{};
};

// `report`: as JSON. `control`: the level that is the first version once more, or "". `round`: how
// long a block takes.
Conclusion conclude(const nlohmann::json& report, const std::string& control,
                    std::chrono::nanoseconds round);

// The same as a table and a list for a pull request.
std::string as_markdown(const nlohmann::json& report, const Conclusion& conclusion);

// Which parts of the layout were drawn at random, and which were not.
std::string randomized_parts(const nlohmann::json& report, bool heap);

}  // namespace stab::client
