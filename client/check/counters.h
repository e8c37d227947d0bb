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

// What becomes of a plan's events on this machine.
struct CountersHere {
  struct Set {
    std::vector<counters::Reading> lacking{};  // what blocks of this set cannot count, and why
    bool fits = true;                          // what they can, they count at the same time
  };
  std::vector<Set> sets{};  // as plan::Plan::rotated; one where nothing takes turns
  std::string profile{};    // why trials could not be sampled; "": they can, or it is not wanted
};

// As trials find it: gives up root's rights if the trials have none. A name that is none is an
// error.
Result<CountersHere> counters_here(const plan::Plan& plan);

std::vector<std::string> counter_lines(const plan::Plan& plan, const CountersHere& here);
nlohmann::ordered_json counters_json(const plan::Plan& plan, const CountersHere& here);
// The sets that take turns.
nlohmann::ordered_json rotate_json(const plan::Plan& plan, const CountersHere& here);

// The event that is sampled; null if none is.
nlohmann::ordered_json profile_json(const plan::Plan& plan, const CountersHere& here);

// What is compared beside the response, read of the programs' output, and computed.
std::vector<std::string> measure_lines(const plan::Plan& plan);
nlohmann::ordered_json measures_json(const plan::Plan& plan);

}  // namespace stab::client
