// SPDX-License-Identifier: MIT
// The open database: its lock, settings and transactions, and reading and writing rows with
// checksums. Connection throws (see exceptions.h).
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "store/rows/cursor.h"
#include "store/rows/row.h"
#include "store/store.h"

namespace stab::store {

// Lets only one process write (S5): a file beside the database, locked with flock, which has the
// holder's pid. The kernel releases the lock when the holder ends, however it ends. A child
// inherits the lock until it execs, so a child that never execs must not outlive its parent.
class Lock {
 public:
  // Does not wait for another holder. The error names that holder's pid.
  static Outcome<Lock> take(const std::string& database_path);

 private:
  explicit Lock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// Keeps prepared statements for the next use of the same SQL. A statement in use is never lent
// twice.
class Statements {
  using Pool = std::multimap<std::string, SQLite::Statement>;

 public:
  explicit Statements(SQLite::Database& database) : database_(database) {}

  // Resets the statement and returns it to the pool at the end of the scope. A statement that is
  // not reset keeps its transaction open.
  class Borrowed {
   public:
    Borrowed(Pool& pool, Pool::node_type node) : pool_(pool), node_(std::move(node)) {}
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ~Borrowed();
    SQLite::Statement& operator*() { return node_.mapped(); }
    SQLite::Statement* operator->() { return &node_.mapped(); }

   private:
    Pool& pool_;
    Pool::node_type node_;
  };
  Borrowed borrow(const std::string& sql);

 private:
  SQLite::Database& database_;
  Pool pool_;
};

// A row that was read.
struct Stored {
  Row row;  // without the checksum
  Id id = 0;
  bool intact = false;  // the row matches its checksum
};

// Refuses a file that is neither a database of stabd nor empty.
void check_identity(SQLite::Database& database);
// Refuses another version of the schema, because only the writer migrates.
void check_version(SQLite::Database& database);

class Connection {
 public:
  // Opens or creates the file and sets WAL, FULL and foreign keys. Refuses a file that is not a
  // database of stabd before it changes anything in it. Call migrate() for the schema.
  explicit Connection(const std::string& path);
  // Opens the file without changing it, even while another process writes. Refuses another version
  // of the schema.
  struct ReadOnly {};
  Connection(const std::string& path, ReadOnly);
  // With `damaged`, errors in the header and schema are ignored as far as possible.
  struct AnyVersion {
    bool damaged = false;
  };
  Connection(const std::string& path, ReadOnly, AnyVersion which);

  // Opens a file that anybody may have made, of any version that we know. Checks that its schema is
  // ours (refuse_other_schema) before it touches any table.
  struct OfOthers {
    // Nobody changes the file: SQLite opens it and nothing else, and ignores a log beside it.
    bool at_rest = false;
    // Called when the file is open, before SQLite reads its content.
    std::function<void()> opened{};
  };
  Connection(const std::string& path, const OfOthers& how);
  // An empty database in memory.
  struct InMemory {};
  explicit Connection(InMemory);
  // Copies a database of others into memory, and migrates the copy to this version.
  struct Migrated {
    std::uint64_t most;  // refuses a database with more bytes
  };
  Connection(Connection& of_others, Migrated how);

  SQLite::Database& database() { return database_; }

  // BEGIN IMMEDIATE .. COMMIT; rolled back if `action` or the commit throws.
  void transaction(const std::function<void()>& action);

  // Makes the next transaction write at the beginning of the log, if nobody reads from the log.
  void reuse_log();

  // Stores the row with the next free id that is at least `least`, and returns the id. The caller
  // must hold a transaction.
  Id insert(std::string_view table, Row row, Id least = 1);
  // Stores a row with its own id and checksum, unless that id is taken.
  void insert_as_it_is(std::string_view table, const Row& row);
  // Overwrites all columns of the row with this id.
  void update(std::string_view table, Id id, Row row);

  void remove(std::string_view table, std::string_view rest, Arguments arguments);

  // A fact about the file: the row of the table meta with this key. Its id is 0 if there is no such
  // row.
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
  // For tables that scan() can't read to the end: reads each row by itself, and passes a row that
  // can't be read on as not intact and without content. Returns false if not even all ids can be
  // read.
  bool scan_apart(std::string_view table, std::string_view rest, Arguments arguments,
                  const Visitor& row);
  // The ids of the selected rows, read from both ends as far as possible.
  struct Ids {
    std::vector<Id> ids;
    bool complete = true;
  };
  Ids ids(std::string_view table, std::string_view rest, Arguments arguments = {});
  Cursor cursor(std::string_view table, std::string_view rest, Arguments arguments = {});

  // The first column of the first row as an integer; 0 if there is no row.
  std::int64_t number(const std::string& sql, Arguments arguments = {});

 private:
  SQLite::Database database_;
  Statements statements_;
};

}  // namespace stab::store
