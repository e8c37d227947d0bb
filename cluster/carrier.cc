// SPDX-License-Identifier: MIT
#include "cluster/carrier.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "protocol/work.h"

namespace stab::cluster {
namespace {

void make_non_blocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

Carrier::Carrier(int from, int to, Signs signs, Look look)
    : from_(from), to_(to), signs_(signs), look_(std::move(look)), lines_(protocol::max_work_line) {
  make_non_blocking(from);
  make_non_blocking(to);
}

void Carrier::move() {
  wants_more_ = false;
  if (reads() >= 0) read_some();
  if (writes() >= 0) write_some();
}

void Carrier::read_some() {
  std::array<char, 65536> buffer;
  const ssize_t n = read(from_, buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0 || !lines_.add(std::string_view(buffer.data(), static_cast<std::size_t>(n)))) {
    ended_ = true;
    return;
  }
  heard_ = Clock::now();
  wants_more_ = buffer[static_cast<std::size_t>(n) - 1] != '\n';
  while (const auto line = lines_.next()) {
    if (line->empty() && signs_ == Signs::end_here) continue;
    if (look_ && !line->empty() && !look_(*this, *line)) continue;
    waiting_ += *line;  // C1
    waiting_ += '\n';
  }
}

void Carrier::write_some() {
  const ssize_t n = write(to_, waiting_.data(), waiting_.size());
  if (n > 0) waiting_.erase(0, static_cast<std::size_t>(n));
  if (n < 0 && errno != EAGAIN && errno != EINTR) {
    broken_ = true;
    waiting_.clear();
  }
}

void Carrier::add(std::string_view line) {
  if (broken_) return;
  // The receiver does not read, so it does not need a further sign.
  if (line.empty() && waiting_.size() > most_waiting) return;
  waiting_ += line;
  waiting_ += '\n';
  write_some();
}

void Carrier::flush(std::chrono::milliseconds time) {
  const auto until = Clock::now() + time;
  while (writes() >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd wait{to_, POLLOUT, 0};
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) == 0) return;
    write_some();
  }
}

}  // namespace stab::cluster
