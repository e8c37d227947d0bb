// SPDX-License-Identifier: MIT
// A file in memory whose path the trial's processes can open. The path is valid as long as this
// object exists and this process runs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace stab::worker {

class MemoryFile {
 public:
  explicit MemoryFile(const char* name);
  // The same file for each trial, emptied each time; its path stays the same.
  static MemoryFile& reused(const char* name);
  [[nodiscard]] bool is_open() const { return static_cast<bool>(fd_); }
  // The path that other processes can open (base/shown_files.h).
  [[nodiscard]] std::string path() const;
  bool write(std::string_view text);
  bool empty();
  // Reads from the start, at most `limit` bytes.
  [[nodiscard]] std::string read(std::size_t limit) const;

 private:
  Fd fd_;
};

}  // namespace stab::worker
