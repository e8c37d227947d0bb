// SPDX-License-Identifier: MIT
// Reads a query's rows one by one, by the places of their columns, for tables with many rows.
// Throws (see exceptions.h).
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/rows/row.h"

namespace stab::store {

using Arguments = std::initializer_list<Value>;

class Cursor {
 public:
  // `query` must select exactly the columns of `table`. While any cursor of the connection is open,
  // changes by other processes are not seen.
  Cursor(sqlite3* database, std::string_view table, std::string_view query, Arguments arguments);

  // Moves to the next row; false after the last one. Invalidates the results of text().
  bool step();

  // The place of a column; refuses an unknown one.
  [[nodiscard]] int place(std::string_view column) const;

  // Values of the current row. They refuse values of other types; integer(), real() and text()
  // refuse NULL, too.
  [[nodiscard]] bool is_null(int place) const;
  [[nodiscard]] std::int64_t integer(int place) const;
  [[nodiscard]] double real(int place) const;
  [[nodiscard]] std::string_view text(int place) const;
  [[nodiscard]] std::string_view text_or_empty(int place) const;
  [[nodiscard]] std::optional<std::int64_t> optional_integer(int place) const;

  [[nodiscard]] Id id() const { return integer(id_); }
  bool intact();  // whether the row matches its checksum
  void require_intact();
  [[nodiscard]] Row row() const;  // a copy, without the checksum

 private:
  struct Column {
    std::string name;
    std::string piece;  // ChecksumText::piece(name)
    int place = 0;
  };
  void need(int place, int type, const char* what) const;

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  sqlite3* database_;
  std::string table_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::vector<Column> columns_;  // all but the checksum, by name
  int checksum_ = -1;
  int id_ = -1;
  ChecksumText text_;
};

}  // namespace stab::store
