// SPDX-License-Identifier: MIT
// The time of day as it is stored. Durations come from a monotonic clock instead.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>

namespace stab {

// Nanoseconds since 1970, UTC.
inline std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Nanoseconds since the machine was started, also those in which it slept. Nobody sets this clock.
inline std::int64_t running_clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec)).count();
}

}  // namespace stab
