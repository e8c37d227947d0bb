// SPDX-License-Identifier: MIT
// Identifies a file's state: it differs from the state of another file of the same name, and from
// the state before a change.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace stab::causal {

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

}  // namespace stab::causal
