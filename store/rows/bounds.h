// SPDX-License-Identifier: MIT
// Limits for files that anybody may have made, and for trials that a worker or an archive sends.
// stabd itself always stores less than that.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/records.h"

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

// Refuses a file that exceeds a limit; the error names table, row, column and limit. Throws (see
// exceptions.h).
void check_bounds(SQLite::Database& database);

class Row;
// Why a row of such a file is not stored: a text is longer than its column allows. "" if it is
// stored.
std::string refusal_of(std::string_view table, const Row& row);

// A worker or an archive may send anything as a trial, and an archive as an experiment. These
// functions decide whether it is stored.

// Why the facts about where the experiment comes from and where it ran are not stored. "" if they
// are stored.
std::string refusal_of(const Experiment& experiment);
// Why these are not stored: a name is not a single line without control characters, or they are too
// large. "" if they are stored.
std::string refusal_of(const std::vector<counters::Reading>& readings);
// The same for everything that a worker reports of a trial. Every stored trial can be exported and
// imported again.
std::string refusal_of(const Trial& trial);

}  // namespace stab::store
