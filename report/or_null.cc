// SPDX-License-Identifier: MIT
#include "report/or_null.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace stab::report {

nlohmann::ordered_json or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? nlohmann::ordered_json(*value)
                                        : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json or_null(const std::string& value) {
  return value.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(value);
}

}  // namespace stab::report
