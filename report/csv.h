// SPDX-License-Identifier: MIT
// CSV as RFC 4180 has it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stab::report {

// Quoted if it holds a comma, a quote or a line break, or starts or ends with a space.
std::string csv_cell(std::string_view value);

// The cells joined by commas. Ends with CR LF, as the RFC says.
std::string csv_line(std::span<const std::string> cells);

}  // namespace stab::report
