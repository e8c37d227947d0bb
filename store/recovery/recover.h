// SPDX-License-Identifier: MIT
// Makes a whole database of what can still be read of a damaged one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/reader.h"

namespace stab::store {

struct Recovered {
  struct Table {
    std::string name{};
    std::uint64_t kept = 0;
    std::uint64_t lost = 0;  // as far as it can be told
    bool more = false;       // may be lost: not all of it could be read, and nothing tells how much
  };
  // Of which something is missing.
  struct Experiment {
    Id id = 0;
    std::string name{};  // "": all of it is lost
    std::string problem{};
  };
  std::vector<Table> tables{};
  std::vector<Experiment> experiments{};  // by id

  [[nodiscard]] bool lost_nothing() const;
};

// Each row of `from` that can be read, wherever it stands in the file, and whose checksum is right,
// with its id; not those that refer to one that is lost. An experiment that was done and misses
// trials has failed in the copy, so that it can be retried. Holds the lock of `from`, which stays as
// it is, byte by byte. `to` is a file that is not there yet; it verifies, and is on disk when this
// returns.
Outcome<Recovered> recover(const std::string& from, const std::string& to);

}  // namespace stab::store
