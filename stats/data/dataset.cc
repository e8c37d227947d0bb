// SPDX-License-Identifier: MIT
#include "stats/data/dataset.h"

#include <algorithm>

namespace stab::stats {

const Column* Dataset::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &Column::name);
  return found == columns.end() ? nullptr : &*found;
}

bool Dataset::is_valid() const {
  if (response.size() > most_rows) return false;
  for (const Lost& trial : lost) {
    if (trial.codes.size() != columns.size()) return false;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (trial.codes[i] >= columns[i].levels.size()) return false;
  }
  return std::ranges::all_of(columns, [this](const Column& column) {
    return column.codes.size() == response.size() &&
           std::ranges::all_of(column.codes,
                               [&](std::uint32_t code) { return code < column.levels.size(); });
  });
}

}  // namespace stab::stats
