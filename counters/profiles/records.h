// SPDX-License-Identifier: MIT
// What the kernel writes into the rings of a sampled event (perf_event_open(2)), as values.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

namespace stab::counters {

// Of each record: which thread, when. Of samples also where, and what each stands for.
inline constexpr std::uint64_t sample_parts =
    PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;

enum class Side : std::uint8_t { program, kernel, elsewhere };

// Times are of the monotonic clock, in ns.
struct Sample {
  std::uint64_t time = 0;
  std::uint64_t address = 0;
  std::uint64_t weight = 0;
  std::uint32_t process = 0;
  Side side = Side::program;
};
// Memory that is executable from now on.
struct Mapped {
  std::uint64_t time = 0;
  std::uint32_t process = 0;
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t inode = 0;   // 0: no file
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
// What profiles do not need, as names of threads.
struct Nothing {
  std::uint64_t time = 0;
};

using Record = std::variant<Nothing, Sample, Mapped, Forked, Executed, Lost>;

inline std::uint64_t time_of(const Record& record) {
  return std::visit([](const auto& each) { return each.time; }, record);
}

// One record with its header; nothing if it is shorter than it must be.
std::optional<Record> parse_record(std::span<const std::byte> bytes);

}  // namespace stab::counters
