// SPDX-License-Identifier: MIT
#include "store/exceptions.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace stab::store {
namespace {

struct Reason {
  std::string text;
  bool temporary = false;
};

std::string constraint_reason(int extended, const char* text) {
  switch (extended) {
    case SQLITE_CONSTRAINT_FOREIGNKEY:
      return "a row refers to a row that does not exist";
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
      return fmt::format("it is already stored ({})", text);
    default:
      return text;
  }
}

Reason reason_of(const SQLite::Exception& error) {
  switch (error.getErrorCode() & 0xff) {
    case SQLITE_FULL:
      return {"the disk is full; free some space", true};
    case SQLITE_READONLY:
      return {fmt::format("the database is read-only, or was moved: make the file writable, or "
                          "move it back ({})",
                          error.what()),
              true};
    case SQLITE_IOERR:
      return {fmt::format("the disk or file system reports an error ({})",
                          sqlite3_errstr(error.getExtendedErrorCode())),
              true};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {
          "another program has locked the database (a transaction in an sqlite3 shell?); end that "
          "program",
          true};
    case SQLITE_NOMEM:
      return {"out of memory", true};
    case SQLITE_NOTADB:
      return {
          "the file is not a database, or its beginning is damaged; choose another file, restore "
          "it from a copy, or save what is intact with 'stabctl recover'"};
    case SQLITE_CORRUPT:
      return {
          "the file is damaged; restore it from a copy, or save what is intact with 'stabctl "
          "recover'"};
    case SQLITE_CANTOPEN:
      return {"the file cannot be opened; check that it exists and that you may read it"};
    case SQLITE_CONSTRAINT:
      return {constraint_reason(error.getExtendedErrorCode(), error.what())};
    default:
      return {error.what()};
  }
}

}  // namespace

bool is_corrupt(const SQLite::Exception& error) {
  const int code = error.getErrorCode() & 0xff;
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
}

void refuse(std::string message) {
  throw Failure(StoreError{.message = std::move(message)});
}

void refuse_damaged(const Damage& damage) {
  refuse(
      fmt::format("row {} of table {} is damaged: {}. A program other than stabd changed the row, "
                  "or the disk corrupted it. Restore the database from a copy, or move it away and "
                  "run the experiment again",
                  damage.row, damage.table, damage.problem));
}

StoreError explain(const std::exception& error, std::string_view what, std::string_view path) {
  if (const auto* failure = dynamic_cast<const Failure*>(&error))
    return {.message = fmt::format("{} ({}): {}", what, path, failure->what()),
            .temporary = failure->error().temporary};
  if (const auto* sqlite = dynamic_cast<const SQLite::Exception*>(&error)) {
    const Reason reason = reason_of(*sqlite);
    return {.message = fmt::format("{} ({}): {}", what, path, reason.text),
            .temporary = reason.temporary};
  }
  const bool memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return {.message = fmt::format("{} ({}): {}", what, path, error.what()), .temporary = memory};
}

}  // namespace stab::store
