// SPDX-License-Identifier: MIT
// Reads trials as records from a cursor; codec.h does this for tables with few rows. Throws (see
// exceptions.h).
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/records.h"
#include "store/rows/cursor.h"

namespace stab::store {

// Reads the column `levels` as a map from factor to level.
std::map<std::string, std::string> levels_in(const std::string& text);

// The trials of an experiment in the order of positions and attempts. Each row's checksum is
// checked.
class TrialRows {
 public:
  TrialRows(sqlite3* database, Id experiment, Positions positions = {});

  // False after the last one.
  bool next(Trial& trial);

 private:
  const std::map<std::string, std::string>& levels(std::string_view text);

  Cursor rows_;
  std::vector<int> places_;
  std::vector<int> layout_places_;
  int levels_ = 0;
  int readings_ = 0;
  int reading_list_ = 0;
  int sample_list_ = 0;
  int profile_ = 0;
  int causal_ = 0;
  // Trials share few distinct texts of levels.
  std::unordered_map<std::string, std::map<std::string, std::string>> known_levels_;
};

}  // namespace stab::store
