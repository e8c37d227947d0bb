// SPDX-License-Identifier: MIT
// Parses what the kernel and szc's runtime record of a sampled program: its samples and mappings,
// and the places of its functions.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/places.h"

namespace stab::counters {

// The records that the kernel writes into the rings of a sampled event (perf_event_open(2)).

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

// The file in which szc's runtime records where a program's functions are (runtime/base/places.h).
// The program can write anything into that file, so every content is valid input.

// The functions of an image. The spans point into the file.
struct MovingImage {
  std::span<const places::Function> functions{};
  std::string_view names{};

  // "" if the file has no name for it.
  [[nodiscard]] std::string_view name(std::uint32_t function) const;
};

struct NewImage {
  std::uint64_t base = 0;
  std::shared_ptr<const MovingImage> image{};
};
struct NewLayout {
  std::uint64_t base = 0;
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  std::uint32_t lead = 0;
  std::span<const places::Place> places{};  // ascending
};
struct GoneImage {
  std::uint64_t base = 0;
};

struct PlaceEvent {
  std::uint64_t time = 0;
  std::uint32_t process = 0;
  std::variant<NewImage, NewLayout, GoneImage> what{};
};

struct PlaceList {
  std::vector<PlaceEvent> events{};  // in the order of the file
  // From this moment on, events may be missing.
  std::uint64_t complete_until = std::numeric_limits<std::uint64_t>::max();
};

// The list points into the bytes, which must be aligned to 8 and must not change any more.
PlaceList read_places(std::span<const std::byte> file);

// Finds the function of a layout whose code contains the address; nullptr if there is no such
// function.
const places::Place* find_place(const NewLayout& layout, const MovingImage& image,
                                std::uint64_t address);

}  // namespace stab::counters
