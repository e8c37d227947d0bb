// SPDX-License-Identifier: MIT
// Values that may be absent, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace stab::report {

// Returns null for a value that is absent, NaN, infinite or "".
nlohmann::ordered_json or_null(std::optional<double> value);
nlohmann::ordered_json or_null(const std::string& value);

}  // namespace stab::report
