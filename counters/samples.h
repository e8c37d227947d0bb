// SPDX-License-Identifier: MIT
// Numbers of one kind that one trial measured, one after the other: repetitions, or iterations.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stab::counters {

struct Samples {
  std::string measure{};         // the plan's name of it
  std::string subject{};         // what the program calls what it measured; "": the program itself
  std::string unit{};            // "ns"; "" for what is counted
  std::vector<double> values{};  // finite, in the order of time; none: absent
  std::string reason{};          // only when absent

  bool operator==(const Samples&) const = default;
};

// What the text of one takes at most (store/rows/sample_list.h).
inline constexpr std::size_t bytes_of_sample = 26;
inline std::size_t bytes_of(const Samples& samples) {
  const std::size_t texts =
      samples.measure.size() + samples.subject.size() + samples.unit.size() + samples.reason.size();
  return 32 + 6 * texts + bytes_of_sample * samples.values.size();
}

// Of all samples of a trial together, so computed.
inline constexpr std::size_t most_sample_bytes = std::size_t{256} << 10;

}  // namespace stab::counters
