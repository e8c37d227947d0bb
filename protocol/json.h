// SPDX-License-Identifier: MIT
// Parses JSON text from untrusted sources into a document of bounded size.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.h"
#include "protocol/field.h"

namespace stab::protocol {

// JSON that we write keeps the order of its fields. Parsed JSON does not, because each look-up in
// an ordered object goes through all its keys.
using json = nlohmann::ordered_json;
using Parsed = nlohmann::json;

inline constexpr std::size_t max_depth = 16;

// Checks the depth and the number of values before it allocates anything.
Result<Parsed> parse(std::string_view text, std::size_t values = max_values);

// Replaces bytes that are not UTF-8, because a program's output may contain any bytes.
std::string dump(const json& value, int indent = -1);

// Shows a value in an error message: short, and on one line.
std::string shown(const Parsed& value);

}  // namespace stab::protocol
