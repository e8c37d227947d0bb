// SPDX-License-Identifier: MIT
#include "store/user_query.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string_view>

#include "store/connection.h"
#include "store/exceptions.h"
#include "store/schema.h"

namespace stab::store {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t most_memory = std::int64_t{256} << 20;
constexpr int longest_value = 16 << 20;
constexpr int steps_between_looks = 1000;

constexpr const char* only_reading =
    "only reading is allowed: give one SELECT over the tables and views of doc/store.md";

// Q1: allows only what reading needs.
int allow_reading(void*, int action, const char*, const char*, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

int is_too_late(void* until) {
  return Clock::now() > *static_cast<const Clock::time_point*>(until) ? 1 : 0;
}

// Limits SQLite's memory; the destructor restores the process's earlier limit.
class MemoryLimit {
 public:
  MemoryLimit() : before_(sqlite3_hard_heap_limit64(most_memory)) {}
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit() { sqlite3_hard_heap_limit64(before_); }

 private:
  sqlite3_int64 before_;
};

struct Finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalizer>;

[[noreturn]] void refuse_code(sqlite3* handle, int code, const QueryLimits& limits) {
  switch (code & 0xff) {
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      refuse(fmt::format("{} ({})", only_reading, sqlite3_errmsg(handle)));
    case SQLITE_INTERRUPT:
      refuse(fmt::format("the query took longer than {} s: ask for less data, or allow more time",
                         std::chrono::duration<double>(limits.time).count()));
    case SQLITE_NOMEM:
      refuse(fmt::format("the query needs more than {} MiB of memory: ask for less data",
                         most_memory >> 20));
    default:
      throw SQLite::Exception(handle, code);
  }
}

Statement prepare(sqlite3* handle, std::string_view sql, const QueryLimits& limits,
                  std::string_view& rest) {
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  const int code =
      sqlite3_prepare_v2(handle, sql.data(), static_cast<int>(sql.size()), &raw, &tail);
  Statement statement(raw);
  if (code != SQLITE_OK) refuse_code(handle, code, limits);
  rest = sql.substr(static_cast<std::size_t>(tail - sql.data()));
  return statement;
}

Statement only_statement(sqlite3* handle, const std::string& sql, const QueryLimits& limits) {
  if (sql.contains('\0')) refuse(only_reading);
  std::string_view rest;
  Statement statement = prepare(handle, sql, limits, rest);
  // Only comments and semicolons may follow.
  for (std::string_view more = rest; !more.empty(); more = rest) {
    if (prepare(handle, more, limits, rest)) refuse(only_reading);
    if (rest.size() == more.size()) break;
  }
  if (!statement || sqlite3_stmt_readonly(statement.get()) == 0 ||
      sqlite3_column_count(statement.get()) == 0)
    refuse(only_reading);
  return statement;
}

std::string as_hex(const unsigned char* bytes, int size) {
  std::string text = "x'";
  for (int i = 0; i < size; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text + "'";
}

Value value_at(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_NULL:
      return {};
    case SQLITE_BLOB:
      return as_hex(static_cast<const unsigned char*>(sqlite3_column_blob(statement, column)),
                    sqlite3_column_bytes(statement, column));
    default: {
      const unsigned char* text = sqlite3_column_text(statement, column);
      const int size = sqlite3_column_bytes(statement, column);
      return text == nullptr ? std::string() : std::string(text, text + size);
    }
  }
}

std::size_t bytes_of(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  return sizeof value + (text == nullptr ? 0 : text->size());
}

Table rows_of(sqlite3* handle, sqlite3_stmt* statement, const QueryLimits& limits) {
  Table table;
  const int columns = sqlite3_column_count(statement);
  for (int i = 0; i < columns; ++i) table.columns.emplace_back(sqlite3_column_name(statement, i));
  std::size_t bytes = 0;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    std::vector<Value>& row = table.rows.emplace_back();
    for (int i = 0; i < columns; ++i) bytes += bytes_of(row.emplace_back(value_at(statement, i)));
    // Q2
    if (bytes > limits.bytes)
      refuse(
          fmt::format("the rows of the result take more than {} MiB: ask for fewer rows, for "
                      "example with LIMIT",
                      limits.bytes >> 20));
  }
  if (code != SQLITE_DONE) refuse_code(handle, code, limits);
  return table;
}

}  // namespace

Outcome<Table> query(const std::string& path, const std::string& sql, const QueryLimits& limits) {
  return guarded("cannot answer this query", path, [&] {
    const MemoryLimit memory;
    Connection connection(path, Connection::ReadOnly());
    sqlite3* const handle = connection.database().getHandle();
    // refuse_other_schema() rules out foreign programs in the schema, so our views may use
    // functions that SQLite considers unsafe.
    refuse_other_schema(connection.database());
    connection.database().exec("PRAGMA trusted_schema = ON; PRAGMA temp_store = MEMORY");
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, longest_value);
    Clock::time_point until = Clock::now() + limits.time;
    sqlite3_progress_handler(handle, steps_between_looks, is_too_late, &until);
    sqlite3_set_authorizer(handle, allow_reading, nullptr);
    // The authorizer would also refuse the rollback at the end, so it is removed before that.
    const auto free = [](sqlite3* of) { sqlite3_set_authorizer(of, nullptr, nullptr); };
    const std::unique_ptr<sqlite3, decltype(free)> guard(handle, free);
    const Statement statement = only_statement(handle, sql, limits);
    return rows_of(handle, statement.get(), limits);
  });
}

}  // namespace stab::store
