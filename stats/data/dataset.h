// SPDX-License-Identifier: MIT
// What is analysed: one number a trial, and what the trial was, in categorical columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace stab::stats {

// A categorical column. `levels` is in the order in which people should see it; the first is the
// baseline.
struct Column {
  std::string name{};
  std::vector<std::string> levels{};
  std::vector<std::uint32_t> codes{};  // one a row, an index into `levels`
};

// Rows are counted in 32 bits.
inline constexpr std::size_t most_rows = 4'000'000'000;

// A trial that ran and has no number, with the bounds of the one that it would have had.
struct Lost {
  std::vector<std::uint32_t> codes{};                          // one a column, as in Column
  double at_least = -std::numeric_limits<double>::infinity();  // in the response's unit
  double at_most = std::numeric_limits<double>::infinity();
  // A rule of the plan left out its number, which lies between these bounds. The number without the
  // disturbance may be any that its cell has.
  bool excluded = false;
};

struct Dataset {
  // One a row, in the order of the trials; NaN: not measured. The number is response + centre, so
  // that numbers that differ little keep all their digits.
  std::vector<double> response{};
  std::vector<Column> columns{};
  double centre = 0;
  std::vector<Lost> lost{};  // besides the rows without a number
  // These are all trials that were lost: what else a block lacks did not run. Otherwise a block that
  // lacks a cell has lost it.
  bool lists_lost = false;

  // Nothing if there is no such column.
  [[nodiscard]] const Column* find(std::string_view name) const;
  // At most most_rows; every column has one code a row, every lost trial has one a column, and every
  // code has its level.
  [[nodiscard]] bool is_valid() const;
};

}  // namespace stab::stats
