// SPDX-License-Identifier: MIT
#include "machine/watch_child.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <new>

namespace stab::machine {
namespace {

using std::chrono::nanoseconds;

nanoseconds now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

int wait_for(const Launch& launch, std::array<pollfd, 6>& fds, nanoseconds deadline,
             nanoseconds next_look) {
  const bool looks = launch.limits.needs_looks();
  if (launch.timeout.count() == 0 && !looks) return poll(fds.data(), fds.size(), -1);
  const nanoseconds end = launch.timeout.count() == 0 ? next_look
                          : looks                     ? std::min(deadline, next_look)
                                                      : deadline;
  const nanoseconds left = std::max(end - now(), nanoseconds(0));
  const timespec time{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
  return ppoll(fds.data(), fds.size(), &time, nullptr);
}

constexpr std::size_t small_output = std::size_t{1} << 20;

// Reserves the largest size at once. The kernel only provides the pages that are used, while
// growing step by step would need the memory twice or more during each copy.
void take_room(std::string& text, std::uint64_t limit) {
  const std::size_t most = static_cast<std::size_t>(limit) + (std::size_t{64} << 10);
  if (text.capacity() >= most) return;
  try {
    text.reserve(most);
  } catch (const std::bad_alloc&) {
    // The machine does not overcommit memory, so the text grows step by step, as far as it can.
  }
}

}  // namespace

bool Stream::drain(std::uint64_t limit) {
  std::array<char, 65536> buffer;
  while (fd) {
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) {
      fd.reset();
      return true;
    }
    if (text.size() > small_output) take_room(text, limit);
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > limit) {
      text.resize(limit);
      return false;
    }
  }
  return true;
}

void Stream::throw_away() {
  constexpr int most = 16;  // a program that writes without end must not keep us here
  std::array<char, 65536> buffer;
  for (int i = 0; i < most && fd; ++i) {
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) fd.reset();
  }
}

End Supervisor::wait(nanoseconds started, nanoseconds& ended) {
  const nanoseconds deadline = started + launch_.timeout;
  nanoseconds next_look = started + look_interval;
  for (;;) {
    std::array<pollfd, 6> fds{{{pidfd_, POLLIN, 0},
                               {launch_.stop_fd, POLLIN, 0},
                               {out_.fd.get(), POLLIN, 0},
                               {err_.fd.get(), POLLIN, 0},
                               {launch_.watched ? launch_.watched_fd() : -1, POLLIN, 0},
                               {beside_ != nullptr ? beside_->fd.get() : -1, POLLIN, 0}}};
    const int ready = wait_for(launch_, fds, deadline, next_look);
    ended = now();
    if (ready < 0 && errno == EINTR) continue;
    if (fds[0].revents != 0) return End::exited;
    if (fds[1].revents != 0) return End::stopped;
    if (fds[4].revents != 0) launch_.watched();
    if (fds[5].revents != 0) beside_->throw_away();
    if (launch_.timeout.count() > 0 && ended >= deadline) return End::timeout;
    if (launch_.limits.needs_looks() && ended >= next_look) {
      next_look = ended + look_interval;
      passed_ = passed_limit(launch_.limits, use_of_descendants(starter_, shared_before_));
      if (!passed_.empty()) return End::over_limit;
    }
    if (!out_.drain(launch_.output_limit) || !err_.drain(launch_.output_limit))
      return End::output_limit;
  }
}

}  // namespace stab::machine
