// SPDX-License-Identifier: MIT
// Reads the measurements of other tools, makes one dataset of their files, and decides which of the
// measurements are compared.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "stats/data/csv.h"
#include "stats/data/dataset.h"
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

// The treatment whose levels are the files.
struct FileFactor {
  std::string name{};
  std::vector<std::string> levels{};  // one per file, all different
};
// `text` is "" (the factor is called "file"), "version", or "version=old,new". Without levels in
// the text, the levels are the files' names.
Result<FileFactor> file_factor(const std::string& text, const std::vector<std::string>& files);

struct Wanted {
  Format format = Format::hyperfine;   // the format of all files
  std::vector<std::string> factors{};  // empty means that table_of() chooses
  std::string subject{};
};

struct Table {
  stats::Dataset data{};  // rows in the order of files, and of commands in each file
  std::vector<std::string> treatments{};
  std::string subject{};  // "" if there is only one subject
  std::vector<std::string> notes{};
  std::size_t failed = 0;  // failed runs or benchmarks
};

// Makes one dataset of the files. The columns are the file factor if there are several files,
// "command" or "benchmark", and hyperfine's parameters. If no factors are wanted, several files are
// the levels: each command or benchmark that all of them have is compared, or the only one of each
// file. The treatments of a single file are its parameters if they distinguish all commands;
// otherwise its commands or benchmarks are the levels. Fails if nothing is left to compare, or if
// the wanted columns do not distinguish all commands.
Result<Table> table_of(std::vector<Measured> files, const FileFactor& factor, const Wanted& wanted);

// Joins the datasets of CSV files, one for each level of the factor, and sorts the levels of their
// columns again.
stats::Dataset joined(std::vector<stats::Dataset> files, const FileFactor& factor);

}  // namespace stab::client::foreign
