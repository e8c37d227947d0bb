// SPDX-License-Identifier: MIT
// JSON text of anybody's making to a document of bounded size.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "protocol/field.h"

namespace stab::protocol {

// What is written keeps the order of its fields. What is read does not: each look-up in an ordered
// object goes through all its keys.
using json = nlohmann::ordered_json;
using Parsed = nlohmann::json;

inline constexpr std::size_t max_depth = 16;

// Looks at depth and number of values before anything is allocated.
Result<Parsed> parse(std::string_view text, std::size_t values = max_values);

// Program output may be any bytes: what is not UTF-8 is replaced.
std::string dump(const json& value, int indent = -1);

// A value in an error message: short, on one line.
std::string shown(const Parsed& value);

}  // namespace stab::protocol
