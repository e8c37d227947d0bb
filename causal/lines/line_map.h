// SPDX-License-Identifier: MIT
// Which code of an object is which line of source, as the session file wants it.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stab::causal {

// Code at these addresses of the object, as it was linked.
struct LineRange {
  std::uint64_t start = 0;
  std::uint32_t size = 0;
  std::uint32_t line = 0;  // of LineMap::lines
  bool operator==(const LineRange&) const = default;
};

// Where code of a line begins in a function, or in a place that it was inlined into.
struct LinePlace {
  std::uint64_t start = 0;
  std::uint32_t line = 0;
  bool operator==(const LinePlace&) const = default;
};

struct ObjectLines {
  std::string path{};
  std::vector<LineRange> ranges{};  // they ascend and do not overlap
  std::vector<LinePlace> places{};  // of the lines that were asked for
  bool has_lines = false;           // there is a line table, whatever of it is in scope
};

struct LineMap {
  std::vector<std::string> lines{};  // "FILE:LINE", each once
  std::vector<ObjectLines> objects{};
};

// A line's name, or what the user calls it by: the path, or its end, and the number.
struct LineName {
  std::string_view file;
  std::uint32_t line = 0;
};
inline std::optional<LineName> split_line(std::string_view name) {
  const std::size_t at = name.rfind(':');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const std::string_view digits = name.substr(at + 1);
  LineName split{.file = name.substr(0, at)};
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, split.line);
  if (digits.empty() || stop != end || error != std::errc{}) return std::nullopt;
  return split;
}

// Whether the line at this path can be called so.
inline bool is_called(const LineName& line, const LineName& name) {
  const std::string_view path = line.file;
  const std::string_view file = name.file;
  return line.line == name.line &&
         (path == file || (path.ends_with(file) && path.size() > file.size() &&
                           (file.starts_with('/') || path[path.size() - file.size() - 1] == '/')));
}

inline constexpr std::size_t most_ranges = 8'000'000;

}  // namespace stab::causal
