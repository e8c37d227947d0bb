// SPDX-License-Identifier: MIT
#include "store/statements.h"

#include <utility>

namespace stab::store {

Statements::Borrowed::~Borrowed() {
  node_.mapped().tryReset();
  pool_.insert(std::move(node_));
}

Statements::Borrowed Statements::borrow(const std::string& sql) {
  auto found = pool_.find(sql);
  if (found == pool_.end()) found = pool_.emplace(sql, SQLite::Statement(database_, sql));
  return {pool_, pool_.extract(found)};
}

}  // namespace stab::store
