// SPDX-License-Identifier: MIT
// What JSON has for a value that is not there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace stab::report {

// null for what is absent, is no number or is empty. Not named optional: null is what JSON has for it.
nlohmann::ordered_json or_null(std::optional<double> value);
nlohmann::ordered_json or_null(const std::string& value);

}  // namespace stab::report
