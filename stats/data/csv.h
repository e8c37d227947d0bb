// SPDX-License-Identifier: MIT
// Reads CSV of any origin as a dataset: RFC 4180 and its usual variants. Cells are separated by
// commas; if the header has none, by semicolons (decimal commas are read then) or tabs. Lines end
// with LF or CR LF; a byte order mark and empty lines are skipped. Quoted cells may hold
// separators, quotes (doubled) and line breaks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "stats/data/dataset.h"

namespace stab::stats {

// Only rows with this text in the column are data. Upper and lower case count as equal.
struct CsvOnly {
  std::string column{};
  std::string text{};  // in small letters
  // Other rows are trials that ran and were lost (Dataset::lost): with this text the response is a
  // lower bound of the number, and with the other one a number that a rule left out.
  bool others_are_lost = false;
  std::string at_least{};
  std::string excluded{};
};

struct CsvColumns {
  std::string response{};
  std::vector<std::string> factors{};  // no name twice
  std::string order{};                 // when a row was measured; "": rows stay as they are
  std::vector<CsvOnly> only{};
};

struct CsvData {
  // Rows in the file's order, or sorted by the column of the order. Levels are sorted: numbers by
  // size, before other texts. An empty cell or NA as the response is NaN.
  Dataset data{};
  std::size_t incomplete = 0;           // rows left out because a factor's cell is empty
  std::vector<std::size_t> left_out{};  // by the first of `only` that a row does not meet
  std::size_t ties = 0;                 // rows that share their place in the order
};

// The names in the first line; nothing if there is none.
std::optional<std::vector<std::string>> csv_header(std::string_view text);

// Fails with "line 3, column 2: ..." (the column in cells) for text that is no CSV, rows of another
// length than the header, a response that is no number, an order that is neither a number nor a
// time; names the nearest column for unknown ones.
Result<CsvData> read_csv(std::string_view text, const CsvColumns& wanted);

}  // namespace stab::stats
