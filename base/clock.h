// SPDX-License-Identifier: MIT
// The time of day as it is stored. Durations come from a monotonic clock instead.
#pragma once

#include <chrono>
#include <cstdint>

namespace stab {

// Nanoseconds since 1970, UTC.
inline std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace stab
