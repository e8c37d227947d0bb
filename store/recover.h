// SPDX-License-Identifier: MIT
// Makes an intact database of the rows of a damaged one that can still be read.
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
    std::uint64_t lost = 0;  // as far as we can tell
    bool more = false;       // more rows may be lost, but nothing tells how many
  };
  // An experiment that has lost something.
  struct Experiment {
    Id id = 0;
    std::string name{};  // "" if the whole experiment is lost
    std::string problem{};
  };
  std::vector<Table> tables{};
  std::vector<Experiment> experiments{};  // by id

  [[nodiscard]] bool lost_nothing() const;
};

// Copies each row of `from`, with its id, that can be read anywhere in the file, has the right
// checksum, and does not need a lost row. An experiment without its machine and a calibration
// without its experiment are kept. If a done experiment misses trials, it has failed in the copy,
// so that it can be retried. Holds the lock of `from`, which is not changed. `to` must not exist
// yet; when this returns, it has passed verification and is on disk.
Outcome<Recovered> recover(const std::string& from, const std::string& to);

}  // namespace stab::store
