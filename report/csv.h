// SPDX-License-Identifier: MIT
// Writes CSV according to RFC 4180.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stab::report {

// Quotes the value if it contains a comma, a quote or a line break, or starts or ends with a space.
std::string csv_cell(std::string_view value);

// Joins the cells with commas. The line ends with CR LF, as the RFC says.
std::string csv_line(std::span<const std::string> cells);

}  // namespace stab::report
