// SPDX-License-Identifier: MIT
// Reads clocks: the time of day in the form in which it is stored, and the time since the machine
// was started. Reads and writes durations in the form that people use.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace stab {

// Nanoseconds since 1970, UTC. Durations come from a monotonic clock instead.
inline std::int64_t wall_clock_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Nanoseconds since the machine was started, including the time that it slept. Nobody can set this
// clock.
inline std::int64_t running_clock_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec)).count();
}

// Both clocks at one moment.
struct Clocks {
  std::int64_t wall_ns = 0;
  std::int64_t running_ns = 0;
  std::string boot;  // identifies the machine's start from which running_ns counts; "" if unknown
};

inline Clocks clocks() {
  const auto boot = read_file("/proc/sys/kernel/random/boot_id", 256).value_or("");
  return {.wall_ns = wall_clock_ns(),
          .running_ns = running_clock_ns(),
          .boot = boot.substr(0, boot.find('\n'))};
}

// Reads "500ms", "1.5s", "10min" or "10m", "2h", "250us", "80ns"; no sign and no spaces. Returns
// nullopt for any other text.
std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text);

// Writes three significant digits and a unit: "1.23 s", "45.6 ms", "2 min 5 s", "3 h 20 min".
std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace stab
