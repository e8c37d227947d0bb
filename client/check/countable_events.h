// SPDX-License-Identifier: MIT
// The lines and JSON of `stabctl check` about a plan's events and measures.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "counters/recorded.h"
#include "plan/plan.h"

namespace stab::client {

// Which of a plan's events this machine can count.
struct CountersHere {
  struct Set {
    std::vector<counters::Reading> lacking{};  // events that its blocks cannot count, and why
    bool fits = true;                          // its blocks count all others at the same time
  };
  std::vector<Set> sets{};  // parallel to plan::Plan::rotated; one if no sets take turns
  std::string profile{};    // why trials can't be sampled; "": they can, or the plan has no profile
};

// Looks at the machine as a trial would: gives up root's rights if trials run without them. An
// unknown event is an error.
Result<CountersHere> counters_here(const plan::Plan& plan);

std::vector<std::string> counter_lines(const plan::Plan& plan, const CountersHere& here);
nlohmann::ordered_json counters_json(const plan::Plan& plan, const CountersHere& here);
// The sets that take turns.
nlohmann::ordered_json rotate_json(const plan::Plan& plan, const CountersHere& here);

// The sampled event; null if the plan has no profile.
nlohmann::ordered_json profile_json(const plan::Plan& plan, const CountersHere& here);

// Further responses, numbers that are read from the programs' output, and derived measures.
std::vector<std::string> measure_lines(const plan::Plan& plan);
nlohmann::ordered_json measures_json(const plan::Plan& plan);

}  // namespace stab::client
