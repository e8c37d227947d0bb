// SPDX-License-Identifier: MIT
// The parts of a report's JSON that belong to calibrations and padding studies.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "report/model.h"

namespace stab::report {

// null unless the analysis is of a calibration.
nlohmann::ordered_json calibration_json(const stats::Analysis& analysis);

// null if the machine was not calibrated.
nlohmann::ordered_json noise_json(const std::optional<NoiseFloor>& noise);

// The seeds of each benchmark's study; empty for other designs.
nlohmann::ordered_json padding_json(const stats::Analysis& analysis);

}  // namespace stab::report
