// SPDX-License-Identifier: MIT
// Limits for files that anybody may have made. stabd itself always stores less than that. Throws
// (see exceptions.h).
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
// The limit of every column that has texts.
std::span<const TextBound> text_bounds();

// The limits of tables that are read as a whole.
struct TableBound {
  std::string_view table;
  std::int64_t rows;
  std::int64_t bytes;  // of all texts together
};
std::span<const TableBound> table_bounds();

// Refuses a file that exceeds a limit; the error names table, row, column and limit.
void check_bounds(SQLite::Database& database);

}  // namespace stab::store
