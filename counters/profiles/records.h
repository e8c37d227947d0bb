// SPDX-License-Identifier: MIT
// Parses the records that the kernel writes into the rings of a sampled event (perf_event_open(2)).
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

namespace stab::counters {

// Every record has its thread and time. Samples also have the address and the number of events that
// they stand for.
inline constexpr std::uint64_t sample_parts =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;

enum class Side : std::uint8_t { program, kernel, elsewhere };

// Times are in ns, from the monotonic clock.
struct Sample {
  std::uint64_t time = 0;
  std::uint64_t address = 0;
  std::uint64_t weight = 0;
  std::uint32_t process = 0;
  Side side = Side::program;
};
// Memory that has become executable.
struct Mapped {
  std::uint64_t time = 0;
  std::uint32_t process = 0;
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  // offset in the file
  std::uint64_t inode = 0;   // 0 without a file
  std::string path{};
};
struct Forked {
  std::uint64_t time = 0;
  std::uint32_t process = 0;
  std::uint32_t parent = 0;
};
struct Executed {
  std::uint64_t time = 0;
  std::uint32_t process = 0;
};
struct Lost {
  std::uint64_t time = 0;
  std::uint64_t records = 0;
};
// A record that profiles do not need, such as the name of a thread.
struct Nothing {
  std::uint64_t time = 0;
};

using Record = std::variant<Nothing, Sample, Mapped, Forked, Executed, Lost>;

inline std::uint64_t time_of(const Record& record) {
  return std::visit([](const auto& each) { return each.time; }, record);
}

// Parses one record with its header; nullopt if it is too short.
std::optional<Record> parse_record(std::span<const std::byte> bytes);

}  // namespace stab::counters
