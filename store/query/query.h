// SPDX-License-Identifier: MIT
// One SELECT of anybody's over a database that others may be writing.
//
// Q1  Nothing is written: not the database, not another file, no temporary one. Nothing is attached
//     and no setting is changed. What the authorizer does not know is refused.
// Q2  It ends: after `time` at the latest, and with at most `bytes` of rows; SQLite itself gets as
//     much memory as a quarter of a GiB.
// Rows are as SQLite reads them: their checksums (S4) are not looked at.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "store/reader.h"
#include "store/rows/row.h"

namespace stab::store {

struct QueryLimits {
  std::chrono::milliseconds time = std::chrono::seconds(10);
  std::size_t bytes = std::size_t{64} << 20;
};

struct Table {
  std::vector<std::string> columns;  // may be alike
  std::vector<std::vector<Value>> rows;
};

// Fails if `sql` is not one SELECT, and as Reader::open() does.
Outcome<Table> query(const std::string& path, const std::string& sql, const QueryLimits& limits);

}  // namespace stab::store
