// SPDX-License-Identifier: MIT
// Which code of an object is which line of source, as the session file wants it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "causal/lines/file_state.h"

namespace stab::causal {

// Code at these addresses of the object, as it was linked.
struct LineRange {
  std::uint64_t start = 0;
  std::uint32_t size = 0;
  std::uint32_t line = 0;  // of LineMap::lines
  bool operator==(const LineRange&) const = default;
};

struct ObjectLines {
  std::string path{};
  std::vector<LineRange> ranges{};  // they ascend and do not overlap
  bool has_lines = false;           // there is a line table, whatever of it is in scope
  std::string stranger{};           // a file that should have it and is of another build; or ""
};

struct FileRead {
  std::string path{};
  FileState state{};  // before it was read, or looked for where there was none
  bool operator==(const FileRead&) const = default;
};

struct LineMap {
  std::vector<std::string> lines{};  // "FILE:LINE", each once
  std::vector<ObjectLines> objects{};
  // All that decided it. None: they are too many to be named.
  std::vector<FileRead> files{};
};

inline constexpr std::size_t most_ranges = 8'000'000;
inline constexpr std::size_t most_files = 10'000;

}  // namespace stab::causal
