// SPDX-License-Identifier: MIT
// A file in memory under a path that the trial's processes can open; it ends with this process.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace stab::worker {

class MemoryFile {
 public:
  explicit MemoryFile(const char* name);
  // One for trial after trial, empty each time: its path stays the same.
  static MemoryFile& reused(const char* name);
  [[nodiscard]] bool is_open() const { return static_cast<bool>(fd_); }
  // See base/shown_files.h.
  [[nodiscard]] std::string path() const;
  bool write(std::string_view text);
  bool empty();
  // From the start, at most this many bytes.
  [[nodiscard]] std::string read(std::size_t limit) const;

 private:
  Fd fd_;
};

}  // namespace stab::worker
