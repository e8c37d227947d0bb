// SPDX-License-Identifier: MIT
// Durations as people write and read them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace stab {

// "500ms", "1.5s", "10min" or "10m", "2h", "250us", "80ns"; no sign and no spaces. Returns nullopt
// for any other text.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

// Three significant digits and a unit: "1.23 s", "45.6 ms", "2 min 5 s", "3 h 20 min".
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace stab
