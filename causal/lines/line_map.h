// SPDX-License-Identifier: MIT
// Maps the code of objects to source lines, in the form that the session file needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "causal/lines/file_state.h"

namespace stab::causal {

// A range of the object's code. Addresses are those at which the object was linked.
struct LineRange {
  std::uint64_t start = 0;
  std::uint32_t size = 0;
  std::uint32_t line = 0;  // index into LineMap::lines
  bool operator==(const LineRange&) const = default;
};

struct ObjectLines {
  std::string path{};
  std::vector<LineRange> ranges{};  // ascending, without overlaps
  bool has_lines = false;  // the object has a line table, even if nothing in it is in scope
  std::string stranger{};  // a debug file that belongs to another build, or ""
};

struct FileRead {
  std::string path{};
  FileState state{};  // before the file was read, or was found to be missing
  bool operator==(const FileRead&) const = default;
};

struct LineMap {
  std::vector<std::string> lines{};  // "FILE:LINE", each once
  std::vector<ObjectLines> objects{};
  // All files that this map depends on; empty if they are more than most_files.
  std::vector<FileRead> files{};
};

inline constexpr std::size_t most_ranges = 8'000'000;
inline constexpr std::size_t most_files = 10'000;

}  // namespace stab::causal
