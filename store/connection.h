// SPDX-License-Identifier: MIT
// The open database: settings, transactions, and rows in and out with their checksums. Throws (see
// failure.h).
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <functional>
#include <string>
#include <string_view>

#include "store/rows/cursor.h"
#include "store/rows/row.h"
#include "store/statements.h"

namespace stab::store {

// One row as it was read.
struct Stored {
  Row row;  // without the checksum
  Id id = 0;
  bool intact = false;  // it matches its checksum
};

class Connection {
 public:
  // Opens or creates the file and sets WAL, FULL and foreign keys. Refuses what is not a database
  // of ours before it changes anything in it. The schema is migrate()'s work.
  explicit Connection(const std::string& path);
  // Opens the file beside the process that writes, and never changes it. Refuses another version
  // of the schema.
  struct ReadOnly {};
  Connection(const std::string& path, ReadOnly);

  SQLite::Database& database() { return database_; }

  // BEGIN IMMEDIATE .. COMMIT; rolled back if `action` or the commit throws.
  void transaction(const std::function<void()>& action);

  // Stores the row under the next free id, which it returns. The caller holds a transaction.
  Id insert(std::string_view table, Row row);
  // Overwrites all columns of the row with this id.
  void update(std::string_view table, Id id, Row row);

  // The rows of `table` that the rest of the query selects ("WHERE trial = ? ORDER BY ordinal"),
  // one by one, until `row` returns false. select() refuses the first damaged row, scan() leaves
  // that to its caller.
  using Visitor = std::function<bool(const Stored&)>;
  void select(std::string_view table, std::string_view rest, Arguments arguments,
              const Visitor& row);
  void scan(std::string_view table, std::string_view rest, Arguments arguments, const Visitor& row);
  Cursor cursor(std::string_view table, std::string_view rest, Arguments arguments = {});

  // The first column of the first row as an integer, 0 if there is none.
  std::int64_t number(const std::string& sql, Arguments arguments = {});

 private:
  SQLite::Database database_;
  Statements statements_;
};

}  // namespace stab::store
