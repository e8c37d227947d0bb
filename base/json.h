// SPDX-License-Identifier: MIT
// The text of a JSON value. Every file takes it from here, so that the library's writer is compiled
// once.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace stab {

// Replaces bytes that are not UTF-8, because texts of users and programs may contain any bytes.
// With an indent of -1 the text is one line.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);
// The text as JSON, in quotes.
std::string json_string(std::string_view text);

}  // namespace stab
