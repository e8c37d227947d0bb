// SPDX-License-Identifier: MIT
// Verbs about the database. Most of them work on the whole file, and need a user who may read it:
// root or stabd's own user.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/verbs.h"

namespace stab::client {

// A folder means the stabd.db in it.
std::string database_named(const std::string& path);

// The database in `common.state`, or else the daemon's.
Result<std::string> database_of(const Common& common);

// Writes an experiment that has ended to a file, which must not exist.
Result<int> export_archive(const Common& common, std::int64_t id, const std::string& file);
// Adds the experiment in such a file to the daemon's database, or to the database in
// `common.state`, which no daemon may have open.
Result<int> import_archive(const Common& common, const std::string& file);

// Copies the daemon's database, or the one in `common.state`, to a file that must not exist. The
// daemon may write to the database meanwhile. Exits with 5 if the copy is damaged because the
// original is.
Result<int> backup(const Common& common, const std::string& file);

// Saves the readable rows of `from` to the new database `to`. No daemon may have `from` open; it is
// not changed. Exits with 5 if anything is lost.
Result<int> recover(const Common& common, const std::string& from, const std::string& to);

// Removes experiments that have ended, with all their rows, from the daemon's database or from the
// one in `common.state`, which no daemon may have open. `dry`: only prints what would be removed.
Result<int> remove(const Common& common, const std::vector<std::int64_t>& ids, bool dry);

struct SqlOptions {
  std::string statement;
  std::string database;  // a file; "" means `common.state`, or else this user's daemon
  bool csv = false;
  int seconds = 10;
};
// Runs one SELECT on a database that the caller may read. It asks no daemon and changes nothing.
Result<int> sql(const Common& common, const SqlOptions& options);

// Prints the machines that ran trials of the database, which the caller may read: the daemon's own
// and nodes of a cluster.
Result<int> machines(const Common& common);

}  // namespace stab::client
