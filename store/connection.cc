// SPDX-License-Identifier: MIT

#include "store/connection.h"

#include <SQLiteCpp/Backup.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "base/text.h"
#include "store/exceptions.h"
#include "store/schema.h"

namespace stab::store {
namespace {

constexpr int max_tries = 20;  // each takes about 100 ms, see holder()

bool passes_with_time(int number) {
  return number == ENOSPC || number == EDQUOT || number == EROFS || number == EIO ||
         number == ENOMEM || number == EMFILE || number == ENFILE;
}

std::unexpected<StoreError> lock_error(const std::string& what, int number) {
  return std::unexpected(StoreError{.message = fmt::format("{}: {}", what, std::strerror(number)),
                                    .temporary = passes_with_time(number)});
}

pid_t pid_in(int fd) {
  std::array<char, 32> text{};
  const ssize_t length = pread(fd, text.data(), text.size(), 0);
  pid_t pid = 0;
  if (length > 0) std::from_chars(text.data(), text.data() + length, pid);
  return pid;
}

// The holder writes its pid right after it has taken the lock. Until then the file is empty or has
// an earlier holder's pid.
pid_t holder(int fd) {
  for (int i = 0; i < 20; ++i) {
    const pid_t pid = pid_in(fd);
    if (pid > 0 && (kill(pid, 0) == 0 || errno == EPERM)) return pid;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return pid_in(fd);
}

std::unexpected<StoreError> in_use(const std::string& database_path, int fd) {
  const pid_t pid = holder(fd);
  const std::string who = pid > 0 ? fmt::format("stabd with pid {}", pid) : "another process";
  return std::unexpected(
      StoreError{.message = fmt::format("{} is in use by {}", database_path, who)});
}

}  // namespace

Outcome<Lock> Lock::take(const std::string& database_path) {
  const std::string path = database_path + ".lock";
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd) return lock_error(fmt::format("cannot create the lock file {}", path), errno);
  // If a holder is killed while it starts a child, that child keeps the lock for a moment.
  for (int tries = 0; flock(fd.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK) return lock_error(fmt::format("cannot lock {}", path), errno);
    const pid_t pid = holder(fd.get());
    const bool gone = pid > 0 && kill(pid, 0) != 0 && errno == ESRCH;
    if (!gone || tries == max_tries) return in_use(database_path, fd.get());
  }
  const std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(fd.get(), 0) != 0) return lock_error(fmt::format("cannot write {}", path), errno);
  if (auto written = write_all(fd.get(), pid); !written)
    return lock_error(fmt::format("cannot write {}", path), errno);
  return Lock(std::move(fd));
}

Statements::Borrowed::~Borrowed() {
  node_.mapped().tryReset();
  pool_.insert(std::move(node_));
}

Statements::Borrowed Statements::borrow(const std::string& sql) {
  auto found = pool_.find(sql);
  if (found == pool_.end()) found = pool_.emplace(sql, SQLite::Statement(database_, sql));
  return {pool_, pool_.extract(found)};
}

namespace {

constexpr int busy_timeout_ms = 2000;
constexpr std::int64_t most_empty_log = std::int64_t{8} << 20;
constexpr int most_of_others = 64 << 20;  // bytes of a row or a text in a file that others made

void bind(SQLite::Statement& statement, int index, const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value))
    statement.bind(index, *number);
  else if (const auto* real = std::get_if<double>(&value))
    statement.bind(index, *real);
  else if (const auto* text = std::get_if<std::string>(&value))
    statement.bind(index, *text);
  else
    statement.bind(index);
}

void bind_all(SQLite::Statement& statement, Arguments arguments) {
  int index = 0;
  for (const Value& argument : arguments) bind(statement, ++index, argument);
}

// Binds the row's values and its checksum; returns the index that comes next.
int bind_row(SQLite::Statement& statement, std::string_view table, const Row& row) {
  int index = 0;
  for (const auto& [column, value] : row.values()) bind(statement, ++index, value);
  statement.bind(++index, row.checksum(table));
  return index + 1;
}

// "INSERT INTO t (a, b, checksum) VALUES (?, ?, ?)"
std::string insert_sql(std::string_view table, const Row& row, const char* verb = "INSERT") {
  std::string columns;
  std::string marks;
  for (const auto& [column, value] : row.values()) {
    columns += column + ", ";
    marks += "?, ";
  }
  return fmt::format("{} INTO {} ({}checksum) VALUES ({}?)", verb, table, columns, marks);
}

std::string update_sql(std::string_view table, const Row& row) {
  std::string columns;
  for (const auto& [column, value] : row.values()) columns += column + " = ?, ";
  return fmt::format("UPDATE {} SET {}checksum = ? WHERE id = ?", table, columns);
}

void configure(SQLite::Database& database) {
  check_identity(database);
  if (sqlite3_db_readonly(database.getHandle(), "main") == 1)
    refuse("the file is not writable; check its permissions");
  if (database.execAndGet("PRAGMA journal_mode = WAL").getString() != "wal")
    refuse("the file system does not support a write-ahead log; put the database on a local disk");
  database.exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF");
  // Removed rows are overwritten, so that neither curious readers nor recover() find them in the
  // file.
  database.exec("PRAGMA secure_delete = ON");
  // A log that grew during a long read gives its space back when SQLite starts it again.
  database.exec(fmt::format("PRAGMA journal_size_limit = {}", most_empty_log));
}

void configure_for_reading(SQLite::Database& database) {
  database.exec("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF");
}

// All later reads see the state at the first read of this transaction.
void begin_reading(SQLite::Database& database) {
  database.exec("BEGIN; SELECT count(*) FROM sqlite_schema");
}

// Views, triggers and virtual tables are programs. Refuses all of them except our own views.
void refuse_programs(SQLite::Database& database) {
  std::string wanted =
      "SELECT count(*) FROM sqlite_schema WHERE sql NOT LIKE 'CREATE TABLE %' AND sql NOT LIKE "
      "'CREATE INDEX %' AND sql NOT LIKE 'CREATE UNIQUE INDEX %'";
  for (std::size_t i = 0; i < known_views().size(); ++i) wanted += " AND sql IS NOT ?";
  SQLite::Statement strange(database, wanted);
  int place = 0;
  for (const std::string_view view : known_views()) strange.bind(++place, std::string(view));
  if (!strange.executeStep() || strange.getColumn(0).getInt64() != 0)
    refuse("the database has views or triggers, so stabd did not make it");
}

void distrust(sqlite3* handle) {
  for (const auto& [option, value] : {std::pair(SQLITE_DBCONFIG_DEFENSIVE, 1),
                                      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                      {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                      {SQLITE_DBCONFIG_ENABLE_VIEW, 0}})
    sqlite3_db_config(handle, option, value, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, most_of_others);
}

void begin_reading_of_others(SQLite::Database& database) {
  database.exec("PRAGMA cell_size_check = ON");
  configure_for_reading(database);
  begin_reading(database);
  check_identity(database);
  refuse_other_schema(database);
}

// SQLite then needs no temporary files, for sorting or to undo a part of a transaction.
constexpr const char* temporary_data_in_memory = "PRAGMA temp_store = MEMORY";

// The name with which SQLite takes no locks and looks for no log.
std::string name_at_rest(const std::string& path) {
  std::string name = path.starts_with('/') ? "file://" : "file:";
  for (const char each : path)
    if (each == '%' || each == '?' || each == '#')
      name += fmt::format("%{:02X}", static_cast<unsigned>(each));
    else
      name += each;
  return name + "?immutable=1";
}

void refuse_larger(SQLite::Database& database, std::uint64_t most) {
  const auto bytes =
      static_cast<std::uint64_t>(database.execAndGet("PRAGMA page_count").getInt64()) *
      static_cast<std::uint64_t>(database.execAndGet("PRAGMA page_size").getInt64());
  if (bytes > most)
    refuse(fmt::format(
        "it takes {} and has a schema of version {}, but this process converts older "
        "databases only up to a size of {}: convert it with 'stabctl import --folder FOLDER FILE' "
        "and 'stabctl export --folder FOLDER --archive NEW'",
        format_bytes(bytes), database.execAndGet("PRAGMA user_version").getInt64(),
        format_bytes(most)));
}

}  // namespace

void check_version(SQLite::Database& database) {
  const int version = database.execAndGet("PRAGMA user_version").getInt();
  if (version != schema_version)
    refuse(fmt::format("the database's schema has version {}, not {}: {}", version, schema_version,
                       version < schema_version
                           ? "start 'stabd --state FOLDER' once with the database's folder; stabd "
                             "makes a copy before it updates the database"
                           : "use the stabctl and stabd of the release that wrote the database"));
}

void check_identity(SQLite::Database& database) {
  if (database.execAndGet("PRAGMA application_id").getInt64() == application_id) return;
  if (database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt64() != 0)
    refuse("the database belongs to another program; choose another file");
}

Connection::Connection(const std::string& path)
    : database_(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX,
                busy_timeout_ms),
      statements_(database_) {
  configure(database_);
}

Connection::Connection(const std::string& path, ReadOnly)
    : Connection(path, ReadOnly(), AnyVersion()) {
  check_version(database_);
}

Connection::Connection(const std::string& path, ReadOnly, AnyVersion which)
    : database_(path, SQLite::OPEN_READONLY | SQLite::OPEN_NOMUTEX, busy_timeout_ms),
      statements_(database_) {
  if (which.damaged) database_.exec("PRAGMA writable_schema = ON");
  check_identity(database_);
  if (!which.damaged) refuse_programs(database_);
  configure_for_reading(database_);
  begin_reading(database_);
}

Connection::Connection(const std::string& path, const OfOthers& how)
    : database_(how.at_rest ? name_at_rest(path) : path,
                SQLite::OPEN_READONLY | SQLite::OPEN_NOMUTEX | (how.at_rest ? SQLite::OPEN_URI : 0),
                busy_timeout_ms),
      statements_(database_) {
  if (how.opened) how.opened();
  distrust(database_.getHandle());
  begin_reading_of_others(database_);
  if (how.at_rest) database_.exec(temporary_data_in_memory);
}

Connection::Connection(InMemory)
    : database_(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX),
      statements_(database_) {}

Connection::Connection(Connection& of_others, Migrated how) : Connection(InMemory()) {
  refuse_larger(of_others.database(), how.most);
  if (SQLite::Backup(database_, of_others.database()).executeStep(-1) != SQLITE_DONE)
    refuse("another program has locked the database; try again");
  database_.exec(temporary_data_in_memory);
  database_.exec("PRAGMA trusted_schema = OFF");
  migrate(*this, schema_steps());
  distrust(database_.getHandle());
  begin_reading_of_others(database_);
}

void Connection::transaction(const std::function<void()>& action) {
  SQLite::Transaction transaction(database_, SQLite::TransactionBehavior::IMMEDIATE);
  action();
  transaction.commit();
}

void Connection::reuse_log() {
  try {
    database_.exec("PRAGMA wal_checkpoint(PASSIVE)");
  } catch (const SQLite::Exception&) {
    // The next change reports the error.
  }
}

Id Connection::insert(std::string_view table, Row row, Id least) {
  const Id id =
      number(fmt::format("SELECT max(coalesce(max(id), 0) + 1, ?) FROM {}", table), {least});
  row.set("id", id);
  auto statement = statements_.borrow(insert_sql(table, row));
  bind_row(*statement, table, row);
  statement->exec();
  return id;
}

void Connection::insert_as_it_is(std::string_view table, const Row& row) {
  auto statement = statements_.borrow(insert_sql(table, row, "INSERT OR IGNORE"));
  bind_row(*statement, table, row);
  statement->exec();
}

void Connection::update(std::string_view table, Id id, Row row) {
  row.set("id", id);
  auto statement = statements_.borrow(update_sql(table, row));
  statement->bind(bind_row(*statement, table, row), id);
  if (statement->exec() != 1) refuse(fmt::format("there is no row {} in table {}", id, table));
}

void Connection::remove(std::string_view table, std::string_view rest, Arguments arguments) {
  auto statement = statements_.borrow(fmt::format("DELETE FROM {} {}", table, rest));
  bind_all(*statement, arguments);
  statement->exec();
}

Stored Connection::meta(std::string_view key) {
  Stored row;
  scan("meta", "WHERE key = ?", {std::string(key)}, [&row](const Stored& stored) {
    row = stored;
    return false;
  });
  return row;
}

void Connection::set_meta(std::string_view key, std::string_view value) {
  const Stored found = meta(key);
  Row row;
  row.set("key", key);
  row.set("value", value);
  if (found.id == 0)
    insert("meta", row);
  else if (found.intact)
    update("meta", found.id, row);
}

Cursor Connection::cursor(std::string_view table, std::string_view rest, Arguments arguments) {
  return {database_.getHandle(), table, fmt::format("SELECT * FROM {} {}", table, rest), arguments};
}

void Connection::scan(std::string_view table, std::string_view rest, Arguments arguments,
                      const Visitor& row) {
  Cursor rows = cursor(table, rest, arguments);
  while (rows.step())
    if (!row({.row = rows.row(), .id = rows.id(), .intact = rows.intact()})) return;
}

Connection::Ids Connection::ids(std::string_view table, std::string_view rest,
                                Arguments arguments) {
  Ids found;
  // Read the table itself, not an index, which may have lost rows.
  const bool all = rest.empty();
  for (const char* order : {"", " DESC"}) {
    SQLite::Statement statement(database_,
                                fmt::format("SELECT id FROM {} {} {} ORDER BY id{}", table,
                                            all ? "NOT INDEXED" : "", rest, order));
    bind_all(statement, arguments);
    const std::size_t first_part = found.ids.size();
    try {
      while (statement.executeStep()) {
        const Id id = statement.getColumn(0).getInt64();
        if (first_part > 0 && id <= found.ids[first_part - 1]) break;
        found.ids.push_back(id);
      }
    } catch (const SQLite::Exception& error) {
      if (!is_corrupt(error)) throw;
      found.complete = false;
    }
    if (found.complete) break;
  }
  std::ranges::sort(found.ids);
  return found;
}

bool Connection::scan_apart(std::string_view table, std::string_view rest, Arguments arguments,
                            const Visitor& row) {
  const Ids found = ids(table, rest, arguments);
  for (const Id id : found.ids) {
    Stored stored{.row = {}, .id = id, .intact = false};
    try {
      Cursor rows = cursor(table, "WHERE id = ?", {id});
      if (rows.step()) stored = {.row = rows.row(), .id = id, .intact = rows.intact()};
    } catch (const SQLite::Exception& error) {
      if (!is_corrupt(error)) throw;
    }
    if (!row(stored)) break;
  }
  return found.complete;
}

void Connection::select(std::string_view table, std::string_view rest, Arguments arguments,
                        const Visitor& row) {
  Cursor rows = cursor(table, rest, arguments);
  while (rows.step()) {
    rows.require_intact();
    if (!row({.row = rows.row(), .id = rows.id(), .intact = true})) return;
  }
}

std::int64_t Connection::number(const std::string& sql, Arguments arguments) {
  auto statement = statements_.borrow(sql);
  bind_all(*statement, arguments);
  return statement->executeStep() ? statement->getColumn(0).getInt64() : 0;
}

}  // namespace stab::store
