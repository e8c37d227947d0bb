// SPDX-License-Identifier: MIT
// Prepared statements, kept for the next use of the same text. One that is in use is never handed
// out twice.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <map>
#include <string>

namespace stab::store {

class Statements {
  using Pool = std::multimap<std::string, SQLite::Statement>;

 public:
  explicit Statements(SQLite::Database& database) : database_(database) {}

  // Goes back to the pool, reset, at the end of its scope: a statement that is not reset keeps its
  // transaction open.
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
