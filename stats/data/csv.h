// SPDX-License-Identifier: MIT
// Reads CSV from any source as a dataset: RFC 4180 and its usual variants. Cells are separated by
// commas; if the header has no commas, by semicolons (then numbers may have decimal commas) or
// tabs. Lines end with LF or CR LF; a byte order mark and empty lines are skipped. Quoted cells may
// hold separators, quotes (doubled) and line breaks.
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
  std::string text{};  // in lower case
  // If true, other rows are trials that ran and were lost (Dataset::lost). If the text is
  // `at_least`, the response is a lower bound of the number; if it is `excluded`, the response is a
  // number that a rule left out.
  bool others_are_lost = false;
  std::string at_least{};
  std::string excluded{};
};

struct CsvColumns {
  std::string response{};
  std::vector<std::string> factors{};  // without duplicates
  std::string order{};                 // column of the time of a row; "": rows stay as they are
  std::vector<CsvOnly> only{};
};

struct CsvData {
  // Rows are in the file's order, or sorted by the order column. Levels are sorted: numbers by
  // size, then other texts. An empty cell or NA as the response is NaN.
  Dataset data{};
  std::size_t incomplete = 0;           // rows left out because a factor's cell is empty
  std::vector<std::size_t> left_out{};  // by the first of `only` that a row does not meet
  std::size_t ties = 0;                 // rows that share their place in the order
};

// Returns the names in the first line, or nothing if there is no line.
std::optional<std::vector<std::string>> csv_header(std::string_view text);

// Fails with "line 3, column 2: ..." (counting cells) if the text is not CSV, a row and the header
// differ in length, a response is not a number, or an order is neither a number nor a time. For an
// unknown column, the error names the nearest one.
Result<CsvData> read_csv(std::string_view text, const CsvColumns& wanted);

}  // namespace stab::stats
