// SPDX-License-Identifier: MIT
// Verbs about the database, most of them about the file as a whole. Who may read it may use those:
// root and the user of stabd.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/verbs.h"

namespace stab::client {

// A folder stands for the stabd.db in it.
std::string database_named(const std::string& path);

// That of `common.state`, else the daemon's.
Result<std::string> database_of(const Common& common);

// An experiment that has ended as a file that is not there yet.
Result<int> export_archive(const Common& common, std::int64_t id, const std::string& file);
// Such a file becomes an experiment of the daemon's, or of the database in `common.state`, which no
// daemon has open.
Result<int> import_archive(const Common& common, const std::string& file);

// Copies the database of the daemon, or of `common.state`, to a file that is not there yet; it may be
// written meanwhile. Exits with 5 if the copy is damaged because the original is.
Result<int> backup(const Common& common, const std::string& file);

// No daemon has `from` open, and it stays as it is. Exits with 5 if anything is lost.
Result<int> recover(const Common& common, const std::string& from, const std::string& to);

// Experiments that have ended, with all that is stored of them, from the daemon's database or that
// of `common.state`, which no daemon has open. `dry`: only says what would go.
Result<int> remove(const Common& common, const std::vector<std::int64_t>& ids, bool dry);

struct SqlOptions {
  std::string statement;
  std::string database;  // a file; "": that of `common.state`, else of this user's daemon
  bool csv = false;
  int seconds = 10;
};
// One SELECT over a database that the caller may read himself; no daemon is asked, nothing is changed.
Result<int> sql(const Common& common, const SqlOptions& options);

// What builds and trials printed and what happened, for whoever may see the experiment; `follow`: to
// its end, of a daemon's.
Result<int> logs(const Common& common, std::int64_t id, bool follow);

}  // namespace stab::client
