// SPDX-License-Identifier: MIT
// Reads the measurements of other tools.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "stats/data/spec.h"

namespace stab::client::foreign {

// The runs of one command or benchmark, in the order in which they were measured.
struct Runs {
  std::string name{};                                             // unique in a file
  std::vector<std::pair<std::string, std::string>> parameters{};  // hyperfine's, sorted by name
  std::vector<double> values{};                                   // finite
  std::size_t failed = 0;                                         // runs that are left out
  std::string reason{};  // why there are no values, if known
};

struct Measured {
  std::string response{};  // the name of what was measured
  stats::Unit unit = stats::Unit::nanoseconds;
  std::vector<Runs> all{};           // never empty
  std::vector<std::string> notes{};  // facts about the file that a reader of the result must know
  std::string host{};                // where it was measured; "" if the file does not say
};

// Longer JSON is refused, because it is held in memory.
inline constexpr std::size_t most_bytes = std::size_t{64} << 20;

enum class Format { csv, hyperfine, google_benchmark };

// Recognizes a format by its content: JSON by the names in its outermost object; text that does not
// begin like an object is CSV. Fails for JSON from neither tool.
Result<Format> format_of(std::string_view text);
// Accepts "csv", "hyperfine" and "google-benchmark".
Result<Format> format_named(std::string_view name);

// `response`: a field of the file; "" means its times. The text is not trusted: whatever it holds,
// the result is valid as above, or an error that says what to change.
Result<Measured> read_hyperfine(std::string_view text, const std::string& response);
Result<Measured> read_google_benchmark(std::string_view text, const std::string& response);

}  // namespace stab::client::foreign
