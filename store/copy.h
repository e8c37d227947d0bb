// SPDX-License-Identifier: MIT
// Copies of the whole file, page by page, with what its write-ahead log holds. Others may read and
// write the original meanwhile; the copy is of one moment.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "store/reader.h"

namespace stab::store {

// Of any version of the schema. Refuses a `to` that is there, or whose log is. Under this name there is nothing, or
// the complete copy, which is on disk when this returns. Rows and pages that
// are damaged are copied as they are: the answer names them. A file is refused that SQLite cannot
// open or read to its end, whose header or schema is damaged or which was cut short, say:
// recover() is for those.
Outcome<std::vector<Damage>> back_up(const std::string& from, const std::string& to);

// A database that somebody sent, as a file that is not there yet, all of it or nothing.
Outcome<void> keep_database(std::string_view bytes, const std::string& to);

// Throw (see failure.h).
// The same of an open database; `replace`: whatever has the name `to`.
void copy_database(SQLite::Database& from, const std::string& to, bool replace);
// Refuses an old log beside it, too: SQLite would play it over what gets the name `path`.
void refuse_existing(const std::string& path);

// Under which this process makes what gets that name, and a folder for what it is made of. Whoever
// makes one has it locked (flock) as long as it lives.
std::string unfinished_name(const std::string& name);
std::string unfinished_folder(const std::string& name);
// What killed processes left of these.
void remove_left_beside(const std::string& name);

// A database that is made under another name, and removed unless it is finished. Only its owner can
// read it.
class Unfinished {
 public:
  explicit Unfinished(const std::string& name);
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  ~Unfinished();
  [[nodiscard]] const std::string& path() const { return path_; }
  // Nobody has it open. It is one file, and on disk under its name when this returns.
  void finish(bool replace);

 private:
  std::string name_;
  std::string path_;
  Fd held_;  // with its lock
};

// Of a database of an earlier version, which stays as it is, a copy of this version; false if it is
// of no earlier one. Somebody else may have made it: what would run in it is refused.
Outcome<bool> copy_of_this_version(const std::string& from, const std::string& to);

}  // namespace stab::store
