// SPDX-License-Identifier: MIT
// What is analysed: one number a trial, and what the trial was, in categorical columns.
#pragma once

#include <cstddef>
#include <cstdint>
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

struct Dataset {
  // One a row, in the order of the trials; NaN: not measured. The number is response + centre, so
  // that numbers that differ little keep all their digits.
  std::vector<double> response{};
  std::vector<Column> columns{};
  double centre = 0;

  // Nothing if there is no such column.
  [[nodiscard]] const Column* find(std::string_view name) const;
  // At most most_rows; every column has one code a row, and every code has its level.
  [[nodiscard]] bool is_valid() const;
};

}  // namespace stab::stats
