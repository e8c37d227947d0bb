// SPDX-License-Identifier: MIT
#include "store/salvage.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "store/copy.h"
#include "store/exceptions.h"
#include "store/rows/raw_pages.h"

namespace stab::store {

void Losses::add(const std::string& table, const Stored& stored) {
  rows[table].insert(stored.id);
  if (table != "trial") return;
  const auto whole = [&](const char* column) -> std::optional<std::int64_t> {
    const auto value = stored.row.values().find(column);
    if (value == stored.row.values().end()) return std::nullopt;
    const auto* number = std::get_if<std::int64_t>(&value->second);
    return number == nullptr ? std::nullopt : std::optional(*number);
  };
  const auto experiment = whole("experiment");
  const auto position = whole("position");
  if (experiment && position) claims[stored.id] = {*experiment, *position, stored.intact};
}

namespace {

struct Column {
  std::string name;
  std::string type;
};

class Salvage {
 public:
  Salvage(const std::string& from, Connection& to, Losses& losses)
      : from_(from), to_(to), losses_(losses) {
    for (const char* table : recovered_tables) {
      SQLite::Statement info(to_.database(),
                             fmt::format("SELECT name, type FROM pragma_table_info('{}')", table));
      while (info.executeStep())
        columns_[table].push_back(
            {.name = info.getColumn(0).getString(), .type = info.getColumn(1).getString()});
    }
  }

  // Returns false if SQLite could not read every row, or some rows are damaged.
  bool read_by_trees() {
    std::unique_ptr<Connection> source;
    try {
      source = std::make_unique<Connection>(from_, Connection::ReadOnly(),
                                            Connection::AnyVersion{.damaged = true});
    } catch (const SQLite::Exception& error) {
      if (!is_corrupt(error)) throw;
      losses_.unreadable.insert(recovered_tables.begin(), recovered_tables.end());
      return false;
    }
    const std::int64_t version = source->number("PRAGMA user_version");
    if (version > schema_version)
      refuse(
          fmt::format("the database's schema has version {}; use the stabctl of the release whose "
                      "stabd wrote the database",
                      version));
    for (const char* table : recovered_tables)
      if (!read_table(*source, table, version)) losses_.unreadable.insert(table);
    return losses_.unreadable.empty() &&
           std::ranges::all_of(losses_.rows, [](const auto& of) { return of.second.empty(); });
  }

  // Reads rows that the trees no longer lead to. A row belongs to the table for which its checksum
  // is right.
  void read_pages(const std::string& scratch) {
    const std::shared_ptr<void> removed(nullptr, [&](void*) { unlink(scratch.c_str()); });
    std::string pages = scratch;
    try {
      SQLite::Database source(from_, SQLite::OPEN_READONLY);
      source.exec("PRAGMA writable_schema = ON");
      copy_database(source, scratch, true);
    } catch (const SQLite::Exception& error) {
      // The copy failed, so the pages are read from the file itself, without its log.
      if (!is_corrupt(error)) throw;
      pages = from_;
    }
    RawPages(pages).for_each_row([&](const RawRow& raw) {
      for (const char* table : recovered_tables)
        if (auto row = row_of(table, raw)) return keep(table, *row);
    });
  }

 private:
  bool read_table(Connection& source, const char* table, std::int64_t version) {
    const auto take = [&](const Stored& stored) {
      if (stored.intact)
        keep(table, stored.row);
      else
        losses_.add(table, stored);
      return true;
    };
    try {
      if (!has_table(source, table))
        return version < schema_version || table == std::string_view(old_reading_table);
      source.scan(table, "ORDER BY id", {}, take);
      return true;
    } catch (const std::exception& error) {
      if (!is_of_damage(error)) throw;
    }
    try {
      source.scan_apart(table, "", {}, take);
    } catch (const std::exception& error) {
      if (!is_of_damage(error)) throw;
    }
    return false;
  }

  static bool has_table(Connection& source, const std::string& table) {
    return source.number("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?",
                         {table}) != 0;
  }

  // If the schema's text has changed, SQLite reports missing tables and columns as SQLITE_ERROR,
  // like a wrong query.
  static bool is_of_damage(const std::exception& error) {
    const auto* sqlite = dynamic_cast<const SQLite::Exception*>(&error);
    if (sqlite == nullptr) return dynamic_cast<const Failure*>(&error) != nullptr;
    return is_corrupt(*sqlite) || sqlite->getErrorCode() == SQLITE_ERROR;
  }

  std::optional<Row> row_of(const char* table, const RawRow& raw) {
    const std::vector<Column>& columns = columns_[table];
    if (raw.values.size() > columns.size()) return std::nullopt;
    Row row;
    std::optional<std::int64_t> checksum;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      Value value = i < raw.values.size() ? raw.values[i] : Value();
      const auto* whole = std::get_if<std::int64_t>(&value);
      if (columns[i].name == "checksum") {
        if (whole == nullptr) return std::nullopt;
        checksum = *whole;
        continue;
      }
      // SQLite stores integral reals as integers, and the id not in the record.
      if (columns[i].name == "id") value = raw.id;
      if (columns[i].type == "REAL" && whole != nullptr) value = static_cast<double>(*whole);
      row.set_value(columns[i].name, std::move(value));
    }
    if (!checksum || row.checksum(table) != *checksum) return std::nullopt;
    return row;
  }

  void keep(const char* table, const Row& row) { to_.insert_as_it_is(table, row); }

  const std::string& from_;
  Connection& to_;
  Losses& losses_;
  std::map<std::string, std::vector<Column>> columns_;
};

}  // namespace

Losses salvage(const std::string& from, Connection& to, const std::string& scratch) {
  Losses losses;
  Salvage rows(from, to, losses);
  if (!rows.read_by_trees()) rows.read_pages(scratch);
  return losses;
}

}  // namespace stab::store
