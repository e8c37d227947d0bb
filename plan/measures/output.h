// SPDX-License-Identifier: MIT
// Numbers that a program prints. The text is anybody's: patterns take time in proportion to it (RE2),
// JSON is looked through without being kept, and texts, patterns and times have bounds.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/reading.h"
#include "counters/samples.h"
#include "plan/plan.h"

namespace stab::plan {

inline constexpr std::size_t max_read = std::size_t{16} << 20;    // bytes of a stream
inline constexpr std::size_t max_matches = std::size_t{1} << 20;  // of a pattern
inline constexpr std::chrono::seconds longest_reading{10};        // of all that a trial printed

// Why it is no pattern with a group, or no pointer of RFC 6901; "" if it is one.
std::string pattern_fault(const std::string& regex);
std::string pointer_fault(std::string_view pointer);

// "stdout": where it is printed.
std::string_view stream_of(const OutputMeasure& measure);

// What a trial has of a measure.
struct Measured {
  // None of one that is different for each of the program's benchmarks.
  std::optional<counters::Reading> reading{};
  std::vector<counters::Samples> samples{};  // of which the reading is the mean
};

// What a program that ended by itself printed there. Whatever is wrong with it becomes a reading
// that is absent and says what was found. No search begins after `until`.
// Samples take at most `room` bytes (counters::bytes_of).
Measured read_output(const OutputMeasure& measure, std::string_view text,
                     std::size_t room = counters::most_sample_bytes,
                     std::chrono::steady_clock::time_point until =
                         std::chrono::steady_clock::now() + longest_reading);

}  // namespace stab::plan
