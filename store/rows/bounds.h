// SPDX-License-Identifier: MIT
// How much a file that anybody may have made may hold of each thing. What stabd itself stores is
// below that. Throws (see failure.h).
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace stab::store {

struct TextBound {
  std::string_view table;
  std::string_view column;
  std::int64_t most;  // bytes
};
// Of every column that holds texts.
std::span<const TextBound> text_bounds();

// Of tables that are read as a whole.
struct TableBound {
  std::string_view table;
  std::int64_t rows;
  std::int64_t bytes;  // of their texts together
};
std::span<const TableBound> table_bounds();

// Refuses what is beyond these, with table, row, column and bound.
void check_bounds(SQLite::Database& database);

}  // namespace stab::store
