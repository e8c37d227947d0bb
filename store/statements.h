// SPDX-License-Identifier: MIT
// Keeps prepared statements for the next use of the same SQL. A statement in use is never lent
// twice.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <map>
#include <string>

namespace stab::store {

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

}  // namespace stab::store
