// SPDX-License-Identifier: MIT
#include "report/csv.h"

namespace stab::report {

std::string csv_cell(std::string_view value) {
  const bool spaced = !value.empty() && (value.front() == ' ' || value.back() == ' ');
  if (!spaced && value.find_first_of(",\"\r\n") == std::string_view::npos)
    return std::string(value);
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_line(std::span<const std::string> cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += ',';
    line += csv_cell(cells[i]);
  }
  return line + "\r\n";
}

}  // namespace stab::report
