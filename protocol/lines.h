// SPDX-License-Identifier: MIT
// Client and daemon, and daemon and worker, send each other JSON objects, one on each line.
// doc/protocol.md lists the messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace stab::protocol {

// The daemon's loop decodes no line that is longer than this. A plan is read by a separate process.
inline constexpr std::size_t most_decoded = std::size_t{64} << 10;

// Cuts a stream of bytes into lines, and limits the length of a line that has not ended yet.
class LineBuffer {
 public:
  explicit LineBuffer(std::size_t limit) : limit_(limit) {}

  // Returns false if the unfinished line is longer than the limit; the buffer can't be used any
  // more after that.
  bool add(std::string_view bytes);
  // Returns the next complete line without its newline, oldest first.
  std::optional<std::string> next();

 private:
  std::size_t limit_;
  std::string bytes_;
  std::size_t start_ = 0;    // where the next line starts
  std::size_t scanned_ = 0;  // there is no newline from start_ to here
};

// A blocking conversation over a descriptor that the channel does not own.
class Channel {
 public:
  // `too_long` is the error if a line exceeds the limit.
  Channel(int fd, std::size_t limit, std::string too_long = "received a line that is too long")
      : fd_(fd), lines_(limit), too_long_(std::move(too_long)) {}

  [[nodiscard]] int fd() const { return fd_; }
  Result<void> send(std::string_view line);
  // Waits for input and reads once. Returns false at the end of the stream.
  Result<bool> fill();
  // Returns nullopt at the end of the stream.
  Result<std::optional<std::string>> receive();
  // Returns a line that has already arrived, without waiting.
  std::optional<std::string> buffered() { return lines_.next(); }

 private:
  int fd_;
  LineBuffer lines_;
  std::string too_long_;
};

}  // namespace stab::protocol
