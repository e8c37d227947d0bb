// SPDX-License-Identifier: MIT
// The open database: settings, transactions, and rows in and out with their checksums. Throws (see
// failure.h).
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

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

// Refuses a file that is neither ours nor empty.
void check_identity(SQLite::Database& database);
// Refuses another version of the schema: a migration is the writer's business.
void check_version(SQLite::Database& database);

class Connection {
 public:
  // Opens or creates the file and sets WAL, FULL and foreign keys. Refuses what is not a database
  // of ours before it changes anything in it. The schema is migrate()'s work.
  explicit Connection(const std::string& path);
  // Opens the file beside the process that writes, and never changes it. Refuses another version
  // of the schema.
  struct ReadOnly {};
  Connection(const std::string& path, ReadOnly);
  // `damaged`: what does not fit in header and schema is no error.
  struct AnyVersion {
    bool damaged = false;
  };
  Connection(const std::string& path, ReadOnly, AnyVersion which);

  // Of a file that anybody may have made, of any version that we know: nothing of its tables is
  // touched before its schema is found to be ours (refuse_other_schema).
  struct OfOthers {};
  Connection(const std::string& path, OfOthers);
  // An empty one that is nowhere else.
  struct InMemory {};
  explicit Connection(InMemory);

  SQLite::Database& database() { return database_; }

  // BEGIN IMMEDIATE .. COMMIT; rolled back if `action` or the commit throws.
  void transaction(const std::function<void()>& action);

  // The next transaction writes at the beginning of the log, if nobody reads what is in it.
  void reuse_log();

  // Stores the row under the next free id from `least` on, which it returns. The caller holds a
  // transaction.
  Id insert(std::string_view table, Row row, Id least = 1);
  // Stores a row with its own id and checksum, unless that id is taken.
  void insert_as_it_is(std::string_view table, const Row& row);
  // Overwrites all columns of the row with this id.
  void update(std::string_view table, Id id, Row row);

  void remove(std::string_view table, std::string_view rest, Arguments arguments);

  // A fact about the file: the row of the table meta with this key. Its id is 0 if there is no such row.
  Stored meta(std::string_view key);
  // Adds or replaces that row. A damaged row stays as it is.
  void set_meta(std::string_view key, std::string_view value);

  // The rows of `table` that the rest of the query selects ("WHERE trial = ? ORDER BY ordinal"),
  // one by one, until `row` returns false. select() refuses the first damaged row, scan() leaves
  // that to its caller.
  using Visitor = std::function<bool(const Stored&)>;
  void select(std::string_view table, std::string_view rest, Arguments arguments,
              const Visitor& row);
  void scan(std::string_view table, std::string_view rest, Arguments arguments, const Visitor& row);
  // Where SQLite cannot read on: each row by itself. One that cannot be read is passed on without
  // its content, as one that is not intact. False if not even the ids of all rows can be read.
  bool scan_apart(std::string_view table, std::string_view rest, Arguments arguments,
                  const Visitor& row);
  // The ids of such rows, from both ends as far as they can be read.
  struct Ids {
    std::vector<Id> ids;
    bool complete = true;
  };
  Ids ids(std::string_view table, std::string_view rest, Arguments arguments = {});
  Cursor cursor(std::string_view table, std::string_view rest, Arguments arguments = {});

  // The first column of the first row as an integer, 0 if there is none.
  std::int64_t number(const std::string& sql, Arguments arguments = {});

 private:
  SQLite::Database database_;
  Statements statements_;
};

}  // namespace stab::store
