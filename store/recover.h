// SPDX-License-Identifier: MIT
// Makes an intact database of the rows of a damaged one that can still be read.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/connection.h"
#include "store/reader.h"
#include "store/schema.h"

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

// Takes each row that can be read and has the right checksum out of a damaged file, and keeps track
// of what the database has lost, as far as we can tell.

// A table comes after the tables that it refers to.
inline constexpr std::array recovered_tables{"meta",  "machine",         "experiment",  "build",
                                             "trial", old_reading_table, "calibration", "event"};

struct Losses {
  std::set<std::string> unreadable{};          // tables that could not be read completely
  std::map<std::string, std::set<Id>> rows{};  // by table
  // The experiment and position in the row of a lost trial whose content can still be read.
  struct Claim {
    Id experiment = 0;
    std::int64_t position = 0;
    bool intact = false;
  };
  std::map<Id, Claim> claims{};  // by the trial's id

  // Notes a row that will not be in the copy.
  void add(const std::string& table, const Stored& stored);
};

// Puts the rows with their ids into `to`, whose tables are empty. Reads along the tables' trees
// and, if those are damaged, also all pages of the file. `scratch` is a temporary file. Throws (see
// exceptions.h), also for a newer schema.
Losses salvage(const std::string& from, Connection& to, const std::string& scratch);

}  // namespace stab::store
