// SPDX-License-Identifier: MIT
// Calibrations on their way from one database to another: each with the machine that it is of.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/error.h"
#include "store/records.h"

namespace stab::wire {

struct KnownMachine {
  store::Machine machine{};
  std::vector<store::Calibration> calibrations{};  // their ids belong to no database
};

nlohmann::ordered_json to_json(const std::vector<KnownMachine>& machines);

// An array of what to_json() wrote; anything else is an error.
Result<std::vector<KnownMachine>> read_machines(const nlohmann::json& array);

}  // namespace stab::wire
