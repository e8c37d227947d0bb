// SPDX-License-Identifier: MIT
// Makes one dataset of other tools' files, and decides which of their measurements are compared.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/foreign.h"
#include "stats/data/csv.h"
#include "stats/data/dataset.h"

namespace stab::client::foreign {

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

// The columns are the file factor if there are several files, "command" or "benchmark", and
// hyperfine's parameters. If no factors are wanted, several files are the levels: each command or
// benchmark that all of them have is compared, or the only one of each file. The treatments of a
// single file are its parameters if they distinguish all commands; otherwise its commands or
// benchmarks are the levels. Fails if nothing is left to compare, or if the wanted columns do not
// distinguish all commands.
Result<Table> table_of(std::vector<Measured> files, const FileFactor& factor, const Wanted& wanted);

// Joins the datasets of CSV files, one for each level of the factor, and sorts the levels of their
// columns again.
stats::Dataset joined(std::vector<stats::Dataset> files, const FileFactor& factor);

}  // namespace stab::client::foreign
