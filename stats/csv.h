// SPDX-License-Identifier: MIT
// Anybody's CSV as a dataset: RFC 4180 and what else is about. Cells are separated by commas; if
// the header has none, by semicolons (decimal commas are read then) or tabs. Lines end with LF or
// CR LF; a byte order mark and empty lines are skipped. Quoted cells may hold separators, quotes
// (doubled) and line breaks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "stats/dataset.h"

namespace stab::stats {

struct CsvColumns {
  std::string response{};
  std::vector<std::string> factors{};  // no name twice
};

struct CsvData {
  // Rows in the file's order. Levels are sorted: numbers by size, before other texts. An empty cell
  // or NA as the response is NaN.
  Dataset data{};
  std::size_t incomplete = 0;  // rows left out because a factor's cell is empty
};

// Fails with "line 3, column 2: ..." (the column in cells) for text that is no CSV, rows of another
// length than the header, a response that is no number; names the nearest column for unknown ones.
Result<CsvData> read_csv(std::string_view text, const CsvColumns& wanted);

}  // namespace stab::stats
