// SPDX-License-Identifier: MIT
// A file in memory under a path that the trial's processes can open; none is left behind.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace stab::worker {

class MemoryFile {
 public:
  explicit MemoryFile(const char* name);
  [[nodiscard]] bool is_open() const { return static_cast<bool>(fd_); }
  // While this process lives.
  [[nodiscard]] std::string path() const;
  bool write(std::string_view text);
  // From the start, at most this many bytes.
  [[nodiscard]] std::string read(std::size_t limit) const;

 private:
  Fd fd_;
};

}  // namespace stab::worker
