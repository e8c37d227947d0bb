// SPDX-License-Identifier: MIT
// Helpers for tests that read text reports.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "report/text.h"

namespace stab::report {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The words of the text, separated by single spaces.
inline std::string words_of(const std::string& text) {
  std::istringstream stream(text);
  std::string result;
  for (std::string word; stream >> word;) result += (result.empty() ? "" : " ") + word;
  return result;
}

inline constexpr TextOptions full{.full = true};

// The first line that starts with this text; "" if there is no such line.
inline std::string line_with(const std::string& report, const std::string& start) {
  for (const std::string& line : lines_of(report))
    if (line.starts_with(start)) return line;
  return "";
}

}  // namespace stab::report
