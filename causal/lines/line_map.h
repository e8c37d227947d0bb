// SPDX-License-Identifier: MIT
// Maps the code of objects to source lines, in the form that the session file needs, and notes the
// state of each file that decided the map.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <vector>

namespace stab::causal {

// Identifies a file's state: it differs from the state of another file of the same name, and from
// the state before a change.
struct FileState {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;  // 0: the file does not exist
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;  // only the kernel sets it; programs can reset `modified_ns`
  bool operator==(const FileState&) const = default;
};

inline FileState state_of(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return {};
  const auto ns = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = static_cast<std::uint64_t>(status.st_size),
          .modified_ns = ns(status.st_mtim),
          .changed_ns = ns(status.st_ctim)};
}

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
