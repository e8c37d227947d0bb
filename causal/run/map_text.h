// SPDX-License-Identifier: MIT
// Reads the output of stab-lines, and finds its lines by the names that people use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "causal/lines/line_map.h"

namespace stab::causal {

inline constexpr std::size_t most_map_bytes = std::size_t{1} << 30;
inline constexpr std::size_t most_lines = 4'000'000;
inline constexpr std::size_t most_objects = 10'000;

// The text may be any bytes. The ranges of the result ascend, do not overlap, and refer to its
// lines.
Result<LineMap> parse_map(std::string_view text);

// Finds "FILE:LINE", where FILE may be the end of a path. The error names the nearest line with
// code.
Result<std::uint32_t> find_line(const LineMap& map, std::string_view name);

}  // namespace stab::causal
