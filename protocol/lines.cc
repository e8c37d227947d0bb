// SPDX-License-Identifier: MIT
#include "protocol/lines.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace stab::protocol {

bool LineBuffer::add(std::string_view bytes) {
  if (start_ > 0) {
    bytes_.erase(0, start_);
    scanned_ -= start_;
    start_ = 0;
  }
  bytes_ += bytes;
  return bytes_.find('\n', scanned_) != std::string::npos || bytes_.size() <= limit_;
}

std::optional<std::string> LineBuffer::next() {
  const std::size_t end = bytes_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = bytes_.size();
    return std::nullopt;
  }
  std::string line = bytes_.substr(start_, end - start_);
  start_ = scanned_ = end + 1;
  return line;
}

Result<void> Channel::send(std::string_view line) {
  const std::string all = std::string(line) + "\n";
  std::string_view rest = all;
  while (!rest.empty()) {
    const ssize_t n = ::send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot send");
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<bool> Channel::fill() {
  std::array<char, 65536> buffer;
  ssize_t n = 0;
  do n = ::read(fd_, buffer.data(), buffer.size());
  while (n < 0 && errno == EINTR);
  if (n < 0) return fail_errno("cannot receive");
  if (n > 0 && !lines_.add(std::string_view(buffer.data(), static_cast<std::size_t>(n))))
    return fail(too_long_);
  return n > 0;
}

Result<std::optional<std::string>> Channel::receive() {
  for (;;) {
    if (auto line = lines_.next()) return line;
    const auto more = fill();
    if (!more) return std::unexpected(more.error());
    if (!*more) return std::nullopt;
  }
}

}  // namespace stab::protocol
