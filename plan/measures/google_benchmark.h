// SPDX-License-Identifier: MIT
// What a program with Google Benchmark printed with --benchmark_format=json. The text is anybody's: it
// is looked through without being kept.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "counters/samples.h"
#include "plan/plan.h"

namespace stab::plan {

// Fields of each benchmark, in its time_unit. Samples of them are in ns.
constexpr bool is_google_time(std::string_view field) {
  return field == "real_time" || field == "cpu_time";
}

struct GoogleBenchmarks {
  // Of each benchmark in the order of coming: its repetitions, of which there is one at least. One that
  // ended with an error has none and says why.
  std::vector<counters::Samples> samples{};
  std::size_t aggregates = 0;  // left out: what Google Benchmark computed of repetitions
  std::size_t lacking = 0;     // left out: those without the number that the measure names
  std::string host{};          // where it ran; "": it does not say
};

// Why there are none: it is no such text, no benchmark has that number, or it takes more than `room`
// bytes (counters::bytes_of).
std::expected<GoogleBenchmarks, std::string> google_benchmarks(const OutputMeasure& measure,
                                                               std::string_view text,
                                                               std::size_t room);

}  // namespace stab::plan
