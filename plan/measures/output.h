// SPDX-License-Identifier: MIT
// Reads numbers that a program prints. The text is not trusted: patterns take time in proportion to
// it (RE2), JSON is parsed without being kept, and texts, patterns and times have limits.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "counters/readings.h"
#include "plan/plan.h"

namespace stab::plan {

inline constexpr std::size_t max_read = std::size_t{16} << 20;    // bytes of a stream
inline constexpr std::size_t max_matches = std::size_t{1} << 20;  // of a pattern
inline constexpr std::chrono::seconds longest_reading{10};        // for all output of a trial

// The reason why a text is not a pattern with a group, or not a pointer of RFC 6901, or "" if it is
// one.
std::string pattern_fault(const std::string& regex);
std::string pointer_fault(std::string_view pointer);

// The stream to which the number is printed, for example "stdout".
std::string_view stream_of(const OutputMeasure& measure);

// The result of reading one measure of a trial.
struct Measured {
  // Nothing if each of the program's benchmarks has a number of its own.
  std::optional<counters::Reading> reading{};
  std::vector<counters::Samples> samples{};  // the reading is their mean
};

// `text` is the output of a program that ended by itself. If anything is wrong with the text, the
// reading is absent and says what was found. No search begins after `until`. Samples take at most
// `room` bytes (counters::bytes_of).
Measured read_output(const OutputMeasure& measure, std::string_view text,
                     std::size_t room = counters::most_sample_bytes,
                     std::chrono::steady_clock::time_point until =
                         std::chrono::steady_clock::now() + longest_reading);

// Splits a pointer of RFC 6901: "/a~1b/0" becomes {"a/b", "0"}. Returns nothing if the text is not
// a pointer.
std::optional<std::vector<std::string>> split_pointer(std::string_view pointer);

// Finds the number that a pointer names in a JSON text, which is not kept as a whole. The error
// says what was found instead.
std::expected<counters::Number, std::string> number_at(std::string_view json,
                                                       const std::vector<std::string>& pointer);

}  // namespace stab::plan
