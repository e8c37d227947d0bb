// SPDX-License-Identifier: MIT
// About how many bytes the rows of each experiment have: a row of the table `size`, written in the
// transactions that change them, so that who asks how much a user stores reads none of those rows.
// A size that is missing or damaged is counted anew from what it is of. Throws (see failure.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "store/connection.h"
#include "store/records.h"

namespace stab::store {

class Sizes {
 public:
  // Within a transaction: stores those that are not stored or are damaged.
  static void count_missing(Connection& connection);

  // Those of a database that has the table. What had to be counted counts as noted.
  void load(Connection& connection);

  // Within a transaction: begin(), then what it changes is noted, then write() stores that.
  // committed() follows it; what was noted for one that failed is forgotten by the next begin().
  void begin() { noted_.clear(); }
  void add_experiment(const Experiment& experiment, Id id);
  void add(Id experiment, std::int64_t bytes);  // fewer than 0 were taken from it
  void add_row(const Row& row) { add(row.integer("experiment"), bytes_of_row(row)); }
  void remove_row(const Row& row) { add(row.integer("experiment"), -bytes_of_row(row)); }
  void remove_experiment(Id experiment) { noted_[experiment].reset(); }
  void write(Connection& connection);
  void committed();

  [[nodiscard]] std::uint64_t of_experiment(Id experiment) const;
  [[nodiscard]] std::uint64_t of_user(std::uint32_t uid) const;

 private:
  struct Size {
    std::uint32_t uid = 0;
    std::int64_t bytes = 0;
    bool has_row = false;
  };
  static std::int64_t bytes_of_row(const Row& row);

  std::map<Id, Size> known_;
  std::map<Id, std::optional<Size>> noted_;  // as the transaction leaves them; nothing: it is gone
};

}  // namespace stab::store
