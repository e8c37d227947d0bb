// SPDX-License-Identifier: MIT
// Finds the number that an RFC 6901 pointer names in a JSON text, which is not kept as a whole.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/recorded.h"

namespace stab::plan {

// Splits "/a~1b/0" into {"a/b", "0"}. Returns nothing if the text is not a pointer.
std::optional<std::vector<std::string>> split_pointer(std::string_view pointer);

// The error says what was found instead.
std::expected<counters::Number, std::string> number_at(std::string_view json,
                                                       const std::vector<std::string>& pointer);

}  // namespace stab::plan
