// SPDX-License-Identifier: MIT
// Runs one SELECT from any user over a database that another process may be writing.
//
// Q1  Nothing is written: neither the database nor any other file, not even a temporary one. No
//     database is attached and no setting changed. The authorizer refuses every action that it does
//     not know.
// Q2  The query ends after `time` at the latest, and with at most `bytes` of rows. SQLite itself
//     may use at most a quarter of a GiB of memory.
// Rows are returned without a check of their checksums (S4).
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
  std::vector<std::string> columns;  // names may repeat
  std::vector<std::vector<Value>> rows;
};

// Fails if `sql` is not exactly one SELECT, and whenever Reader::open() would fail.
Outcome<Table> query(const std::string& path, const std::string& sql, const QueryLimits& limits);

}  // namespace stab::store
