// SPDX-License-Identifier: MIT
// The data to analyse: one number for each trial, and categorical columns that describe the trial.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace stab::stats {

// A categorical column. `levels` is in the order in which people should see it, and the first level
// is the baseline.
struct Column {
  std::string name{};
  std::vector<std::string> levels{};
  std::vector<std::uint32_t> codes{};  // one for each row, an index into `levels`
};

// Rows are counted in 32 bits.
inline constexpr std::size_t most_rows = 4'000'000'000;

// A trial that ran but has no number, with the bounds of the number that it would have had.
struct Lost {
  std::vector<std::uint32_t> codes{};                          // one for each column, as in Column
  double at_least = -std::numeric_limits<double>::infinity();  // in the response's unit
  double at_most = std::numeric_limits<double>::infinity();
  // A rule of the plan left out the trial's number, which lies between these bounds. Without the
  // disturbance, it may be any number that its cell has.
  bool excluded = false;
};

struct Dataset {
  // One number for each row, in the order of the trials; NaN: not measured. The number is response
  // + centre, so that numbers that differ little keep all their digits.
  std::vector<double> response{};
  std::vector<Column> columns{};
  double centre = 0;
  std::vector<Lost> lost{};  // in addition to the rows without a number
  // True if `lost` has all trials that were lost: any other cell that a block lacks did not run.
  // Otherwise, a block that lacks a cell has lost it.
  bool lists_lost = false;

  // Returns nothing if the column does not exist.
  [[nodiscard]] const Column* find(std::string_view name) const;
  // Checks that there are at most most_rows rows, that every column has one code for each row and
  // every lost trial one for each column, and that every code has a level.
  [[nodiscard]] bool is_valid() const;
};

}  // namespace stab::stats
