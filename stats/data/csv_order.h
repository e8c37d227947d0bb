// SPDX-License-Identifier: MIT
// When the rows of a CSV were measured: the cells of a column that are numbers (a running number, a
// time stamp), or times as ISO 8601 writes them, which sort as texts do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stats/data/dataset.h"

namespace stab::stats {

class CsvOrder {
 public:
  // Adds the cell of the next row; false if it is of neither kind, or of another than those before.
  bool add(std::string_view cell, char decimal_point);

  // Sorts the rows of the dataset, one for each cell; those with equal cells keep their order.
  void sort(Dataset& data) const;

  // Rows whose cell another row has, too: nothing says which of them was first.
  [[nodiscard]] std::size_t ties() const;

 private:
  [[nodiscard]] std::vector<std::uint32_t> rows() const;
  [[nodiscard]] bool before(std::uint32_t a, std::uint32_t b) const;

  std::vector<double> numbers_;
  std::vector<std::string> times_;  // one of the two is empty
};

}  // namespace stab::stats
