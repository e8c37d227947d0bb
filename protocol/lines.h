// SPDX-License-Identifier: MIT
// Every conversation here, between client and daemon and between daemon and worker, is one JSON
// object a line. doc/protocol.md lists them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace stab::protocol {

// The daemon's loop decodes no longer line of anybody's; a plan is read by a process of its own.
inline constexpr std::size_t most_decoded = std::size_t{64} << 10;

// Cuts a stream of bytes into lines, none longer than the limit.
class LineBuffer {
 public:
  explicit LineBuffer(std::size_t limit) : limit_(limit) {}

  // False when the unfinished line has grown past the limit; the buffer is of no use any more then.
  bool add(std::string_view bytes);
  // The next whole line without its end, oldest first.
  std::optional<std::string> next();

 private:
  std::size_t limit_;
  std::string bytes_;
  std::size_t start_ = 0;    // of the next line
  std::size_t scanned_ = 0;  // no line ends before this
};

// A blocking conversation over one descriptor that it does not own.
class Channel {
 public:
  Channel(int fd, std::size_t limit) : fd_(fd), lines_(limit) {}

  [[nodiscard]] int fd() const { return fd_; }
  Result<void> send(std::string_view line);
  // Reads once what has arrived, or waits for it. False at the end of the stream.
  Result<bool> fill();
  // Nothing at the end of the stream.
  Result<std::optional<std::string>> receive();
  // A line that has arrived already, without waiting.
  std::optional<std::string> buffered() { return lines_.next(); }

 private:
  int fd_;
  LineBuffer lines_;
};

}  // namespace stab::protocol
