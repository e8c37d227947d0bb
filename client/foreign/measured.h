// SPDX-License-Identifier: MIT
// What another tool measured, as values.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "stats/data/spec.h"

namespace stab::client::foreign {

// Of one command or benchmark, in the order in which they were measured.
struct Runs {
  std::string name{};                                             // no two of a file have the same
  std::vector<std::pair<std::string, std::string>> parameters{};  // hyperfine: by their names
  std::vector<double> values{};                                   // finite
  std::size_t failed = 0;                                         // left out
  std::string reason{};  // why there are no values, where the file says so
};

struct Measured {
  std::string response{};  // what the values are
  stats::Unit unit = stats::Unit::nanoseconds;
  std::vector<Runs> all{};           // one at least
  std::vector<std::string> notes{};  // what a reader of the result has to know of the file
  std::string host{};                // where it was measured; "": the file does not say
};

// Longer JSON is refused: it is held in memory.
inline constexpr std::size_t most_bytes = std::size_t{64} << 20;

enum class Format { csv, hyperfine, google_benchmark };

// By its content: JSON is told apart by the names in its outermost object, all that does not begin as
// an object is CSV. Fails for JSON that is of neither tool.
Result<Format> format_of(std::string_view text);
// "csv", "hyperfine", "google-benchmark".
Result<Format> format_named(std::string_view name);

// `response`: a field of the file; "": its times. Anybody's text: whatever is in it, the result is
// values as above, or an error that says what to change.
Result<Measured> read_hyperfine(std::string_view text, const std::string& response);
Result<Measured> read_google_benchmark(std::string_view text, const std::string& response);

}  // namespace stab::client::foreign
