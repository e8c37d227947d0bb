// SPDX-License-Identifier: MIT
// The approximate size of each experiment's rows, kept in the table `size`, so that nobody has to
// read all rows to learn how much a user stores. Transactions that change rows also write their
// sizes. A missing or damaged size is counted again from the rows. Throws (see exceptions.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "store/connection.h"
#include "store/records.h"

namespace stab::store {

class Sizes {
 public:
  // Stores missing and damaged sizes. Must run within a transaction.
  static void count_missing(Connection& connection);

  // Loads the sizes of a database that has the table. Sizes that had to be counted are stored by
  // the next transaction.
  void load(Connection& connection);

  // In each transaction, call begin(), note the changes with the functions below, and store them
  // with write(). After the commit, call committed(). If the transaction fails, the next begin()
  // drops what was noted.
  void begin();
  void add_experiment(const Experiment& experiment, Id id);
  void use_state(Id experiment, std::string_view state);
  void add(Id experiment, std::int64_t bytes);  // negative if rows were removed
  void add_row(const Row& row) { add(row.integer("experiment"), row.bytes()); }
  void remove_row(const Row& row) { add(row.integer("experiment"), -row.bytes()); }
  void remove_experiment(Id experiment) { noted_[experiment].reset(); }
  void write(Connection& connection);
  void committed();

  [[nodiscard]] std::uint64_t of_experiment(Id experiment) const;
  // See Store::use_accounts(). A sum is kept for each account, so nobody visits all experiments.
  void use_accounts(AccountOf account_of);
  [[nodiscard]] BytesOfAccount of_account(std::uint32_t uid) const;

 private:
  struct Size {
    std::uint32_t uid = 0;
    std::int64_t bytes = 0;
    bool has_row = false;
    bool hidden = false;  // nobody sees the experiment (S7 of store.h)
  };
  Size* note(Id experiment);  // the size after the transaction; nullptr if there is none
  void count(const Size& size, std::int64_t sign);
  void count_all();

  AccountOf account_of_ = std::identity();
  std::map<std::uint32_t, BytesOfAccount> sums_;  // of known_, by account
  std::map<Id, Size> known_;
  // Sizes after the transaction; nothing if the experiment is removed.
  std::map<Id, std::optional<Size>> noted_;
  std::map<Id, Size> counted_;  // sizes that no transaction has stored yet
};

}  // namespace stab::store
