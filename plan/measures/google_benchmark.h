// SPDX-License-Identifier: MIT
// Reads the output of a program with Google Benchmark, printed with --benchmark_format=json. The
// text is not trusted, and is parsed without being kept.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "counters/readings.h"
#include "plan/plan.h"

namespace stab::plan {

// Fields that each benchmark has in its time_unit. Their samples are in ns.
constexpr bool is_google_time(std::string_view field) {
  return field == "real_time" || field == "cpu_time";
}

struct GoogleBenchmarks {
  // The repetitions of each benchmark, at least one, in the order in which the benchmarks first
  // appear. A benchmark that ended with an error has no values, but the reason.
  std::vector<counters::Samples> samples{};
  std::size_t aggregates = 0;  // left out: numbers that Google Benchmark computed from repetitions
  std::size_t lacking = 0;     // left out: benchmarks without the number that the measure names
  std::string host{};          // the machine where it ran; "" if the text does not say
};

// The error says why there are no benchmarks: the text is not such output, no benchmark has that
// number, or the samples take more than `room` bytes (counters::bytes_of).
std::expected<GoogleBenchmarks, std::string> google_benchmarks(const OutputMeasure& measure,
                                                               std::string_view text,
                                                               std::size_t room);

}  // namespace stab::plan
