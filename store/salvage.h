// SPDX-License-Identifier: MIT
// Takes each row that can be read and has the right checksum out of a damaged file, and keeps track
// of what the database has lost, as far as we can tell.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "store/connection.h"
#include "store/schema.h"

namespace stab::store {

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
