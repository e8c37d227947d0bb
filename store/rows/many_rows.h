// SPDX-License-Identifier: MIT
// Trials and their readings as records, from cursors: what codec.h does for tables with few rows.
// Throws (see failure.h).
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/records.h"
#include "store/rows/cursor.h"

namespace stab::store {

// The readings of an experiment's trials in the order of positions, attempts and ordinals.
extern const char* const readings_sql;

// Factor -> level, from the column `levels`.
std::map<std::string, std::string> levels_in(const std::string& text);

// The trials of an experiment in the order of positions and attempts, each checked.
class TrialRows {
 public:
  TrialRows(sqlite3* database, Id experiment, Positions positions = {});

  // False behind the last one. Fills `trial`, without its readings.
  bool next(Trial& trial);
  // Of the row that next() came to.
  [[nodiscard]] Id id() const { return rows_.id(); }
  [[nodiscard]] std::int64_t readings() const { return rows_.integer(readings_); }

 private:
  const std::map<std::string, std::string>& levels(std::string_view text);

  Cursor rows_;
  std::vector<int> places_;
  std::vector<int> layout_places_;
  int levels_ = 0;
  int readings_ = 0;
  // Few texts are different ones.
  std::unordered_map<std::string, std::map<std::string, std::string>> known_levels_;
};

// The readings of the same trials in the same order. It begins after TrialRows has come to its
// first row and so sees the same state of the database.
class ReadingRows {
 public:
  ReadingRows(sqlite3* database, Id experiment);

  // Those of the trial, which must be asked for in order. Refuses damaged ones.
  void take(Id trial, std::vector<counters::Reading>& readings);

 private:
  void read(counters::Reading& reading);

  Cursor rows_;
  int trial_;
  int name_;
  int status_;
  int value_;
  int coverage_;
  int reason_;
  bool started_ = false;
  bool here_ = false;  // it stands on a row
};

}  // namespace stab::store
