// SPDX-License-Identifier: MIT
// The columns of a dataset as the model sees them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "stats/data/dataset.h"
#include "stats/data/prepare.h"

namespace stab::stats {

// Rows are counted in 32 bits, like levels.
using Row = std::uint32_t;

inline constexpr std::uint32_t unused = std::numeric_limits<std::uint32_t>::max();

// A column as the model sees it. An absent column has a single level.
struct View {
  const Column* column = nullptr;
  std::vector<std::uint32_t> map;  // level -> its number among the levels that have data
  std::uint32_t used = 1;

  [[nodiscard]] std::uint32_t code(std::size_t row) const {
    return column == nullptr ? 0 : map[column->codes[row]];
  }
};

struct Views {
  View subject;
  View block;
  View seed;
  std::vector<View> treatments;

  [[nodiscard]] Group place(std::size_t row) const {
    Group group;
    group.subject = subject.code(row);
    group.block = block.code(row);
    group.seed = seed.code(row);
    for (const View& treatment : treatments)
      group.cell = group.cell * treatment.used + treatment.code(row);
    return group;
  }
};

// Makes the views of the columns that the spec names. A column that the data lacks is removed from
// the spec, with a note.
Views make_views(const Dataset& data, std::span<const Row> rows, Prepared& out);

// Returns the names of the levels that have data, in their order.
std::vector<std::string> used_levels(const View& view);

}  // namespace stab::stats
