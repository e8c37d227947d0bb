// SPDX-License-Identifier: MIT
// Which code of an object is which line of source, as the session file wants it.
#pragma once

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
std::optional<LineName> split_line(std::string_view name);
// Whether the line at this path can be called so.
bool is_called(const LineName& line, const LineName& name);

inline constexpr std::size_t most_ranges = 8'000'000;

}  // namespace stab::causal
