// SPDX-License-Identifier: MIT
// Copies whole databases page by page, including their write-ahead logs. Other processes may read
// and write the original meanwhile; the copy has the state of one moment.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "store/reader.h"

namespace stab::store {

// Copies a database of any schema version. Refuses if `to` or its log exists. The name `to` appears
// only with the complete copy, which is on disk when this returns. Damaged rows and pages are
// copied as they are, and the result names them. Refuses a file that SQLite can't open or read to
// its end, for example because its header or schema is damaged or it was cut short: use recover()
// for that.
Outcome<std::vector<Damage>> back_up(const std::string& from, const std::string& to);

// Writes the bytes of a database to a new file, completely or not at all.
Outcome<void> keep_database(std::string_view bytes, const std::string& to);

// Copies an open database. With `replace`, the copy replaces a file with the name `to`. This
// function and those below that return no Outcome throw (see exceptions.h).
void copy_database(SQLite::Database& from, const std::string& to, bool replace);
// Refuses if `path` exists, or an old log beside it, which SQLite would apply to the new database.
void refuse_existing(const std::string& path);

// The names under which this process makes a database, and a folder for its parts, before the
// database gets its final name. Their maker keeps them locked (flock).
std::string unfinished_name(const std::string& name);
std::string unfinished_folder(const std::string& name);
// Removes unfinished files and folders that killed processes left.
void remove_left_beside(const std::string& name);

// A database that is made under a temporary name, and removed unless it is finished. Only its owner
// can read it.
class Unfinished {
 public:
  explicit Unfinished(const std::string& name);
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished();
  [[nodiscard]] const std::string& path() const { return path_; }
  // Nobody may have the database open. When this returns, it is a single file, on disk under its
  // final name.
  void finish(bool replace);

 private:
  std::string name_;
  std::string path_;
  Fd held_;  // holds the lock
};

}  // namespace stab::store
