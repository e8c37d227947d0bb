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

struct Dataset {
  std::vector<double> response{};  // one a row; NaN: not measured
  std::vector<Column> columns{};

  // Nothing if there is no such column.
  [[nodiscard]] const Column* find(std::string_view name) const;
  // Every column has one code a row, and every code has its level.
  [[nodiscard]] bool is_valid() const;
};

}  // namespace stab::stats
