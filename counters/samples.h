// SPDX-License-Identifier: MIT
// Several numbers of the same kind that one trial measured, for example one per repetition or
// iteration.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stab::counters {

struct Samples {
  std::string measure{};  // the plan's name for it
  std::string subject{};  // the program's name for what it measured; "" for the program itself
  std::string unit{};     // "ns", or "" for counts
  std::vector<double> values{};  // finite, in the order of time; empty if absent
  std::string reason{};          // only when absent

  bool operator==(const Samples&) const = default;
};

// The most bytes that one number takes as text (store/rows/lists.h).
inline constexpr std::size_t bytes_of_sample = 26;
inline std::size_t bytes_of(const Samples& samples) {
  const std::size_t texts =
      samples.measure.size() + samples.subject.size() + samples.unit.size() + samples.reason.size();
  return 32 + 6 * texts + bytes_of_sample * samples.values.size();
}

// The limit for the sum of bytes_of() over all samples of a trial.
inline constexpr std::size_t most_sample_bytes = std::size_t{256} << 10;

}  // namespace stab::counters
