// SPDX-License-Identifier: MIT
// What is lost of a damaged database, as far as it can be told.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "store/connection.h"
#include "store/schema.h"

namespace stab::store {

// Those that others refer to come first.
inline constexpr std::array recovered_tables{"meta",  "machine",         "experiment",  "build",
                                             "trial", old_reading_table, "calibration", "event"};

struct Losses {
  std::set<std::string> unreadable{};          // tables of which something could not be read
  std::map<std::string, std::set<Id>> rows{};  // by table
  // What a lost trial whose content can be read says of itself.
  struct Claim {
    Id experiment = 0;
    std::int64_t position = 0;
    bool intact = false;
  };
  std::map<Id, Claim> claims{};  // by the trial's id

  // A row that will not be in the copy.
  void add(const std::string& table, const Stored& stored);
};

}  // namespace stab::store
