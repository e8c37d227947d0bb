// SPDX-License-Identifier: MIT
// Files of other tools as one dataset: which of what they measured is compared with which.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/foreign/measured.h"
#include "stats/data/csv.h"
#include "stats/data/dataset.h"

namespace stab::client::foreign {

// The treatment that several files are the levels of.
struct FileFactor {
  std::string name{};
  std::vector<std::string> levels{};  // one a file, no two alike
};
// `text` is "" (the factor is called file, its levels as the files), "version", or
// "version=old,new".
Result<FileFactor> file_factor(const std::string& text, const std::vector<std::string>& files);

struct Wanted {
  Format format = Format::hyperfine;   // of all files
  std::vector<std::string> factors{};  // empty: what the files suggest, see table_of()
  std::string subject{};
};

struct Table {
  stats::Dataset data{};  // rows by file, and in it by command, in their order
  std::vector<std::string> treatments{};
  std::string subject{};  // "": there is one
  std::vector<std::string> notes{};
  std::size_t failed = 0;  // runs, or benchmarks
};

// Columns are the file factor if there are several files, "command" or "benchmark", and the parameters
// of hyperfine. Without factors: several files are levels, of each command or benchmark that is in all
// of them, or of the only one of each; in one file its parameters are factors if these tell all
// commands apart, else its commands or benchmarks are the levels. Fails if nothing is left to compare,
// or if columns that are wanted do not tell all runs of different commands apart.
Result<Table> table_of(std::vector<Measured> files, const FileFactor& factor, const Wanted& wanted);

// A CSV for each level of the factor as one dataset; the levels of their columns are sorted anew.
stats::Dataset joined(std::vector<stats::Dataset> files, const FileFactor& factor);

}  // namespace stab::client::foreign
