// SPDX-License-Identifier: MIT
// A CSV text as lines of cells, one after the other.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace stab::stats {

class CsvCells {
 public:
  // `text` outlives this.
  CsvCells(std::string_view text, char separator) : text_(text), separator_(separator) {}

  // The cells of the next line that is not empty, valid until the next call; false after the last.
  Result<bool> next(std::vector<std::string_view>& cells);

  // Where the last row began, from 1.
  [[nodiscard]] std::size_t line() const { return line_; }

  // "line 3, column 2: what"
  [[nodiscard]] std::unexpected<Error> error(std::size_t column, const std::string& what) const;

 private:
  Result<std::string_view> cell(std::size_t column);
  Result<std::string_view> quoted(std::size_t column);
  [[nodiscard]] bool at_end_of_line() const;
  void end_line();

  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  std::size_t line_ = 0;
  std::size_t next_line_ = 1;
  std::deque<std::string> unescaped_;  // cells of this row that had doubled quotes
};

}  // namespace stab::stats
