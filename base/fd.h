// SPDX-License-Identifier: MIT
// File descriptors with one owner, and whole-file reads with a bound.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace stab {

// Owns one descriptor, or none (-1). Closes it once.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

// Reads a regular file or a pipe to its end; fails if it is longer than `limit`.
Result<std::string> read_file(const std::string& path, std::size_t limit);

// Reads the next `bytes` bytes of a file; returns fewer only if the file ends before.
Result<std::string> read_piece(const Fd& file, std::size_t bytes);

// Replaces the file in one step: readers see either the old or the new content, even after a crash.
Result<void> write_file_atomically(const std::string& path, std::string_view content);

// Writes everything or returns an error; retries after EINTR.
Result<void> write_all(int fd, std::string_view content);

// Removes everything in a folder, even at a depth that no path can name, and even in folders in
// which nothing can be removed. Does not follow links, but the path itself may be a link, as
// /dev/shm is on some machines. Returns false if something is left.
bool empty_folder(const std::string& path);

}  // namespace stab
