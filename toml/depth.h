// SPDX-License-Identifier: MIT
// toml++ 3.3 builds one nested table for each part of a dotted key, without a limit, and overflows
// the stack when it frees half a million of them. So the depth of a text is checked before it is
// parsed.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace stab::toml {

// The offset where brackets nest deeper than `limit`, or where a dotted key has more than `limit`
// dots. The answer is right up to the text's first syntax error, where the parser stops, too.
std::optional<std::size_t> too_deep(std::string_view text, std::size_t limit);

}  // namespace stab::toml
