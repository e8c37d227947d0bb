// SPDX-License-Identifier: MIT
// Verbs about the database file as a whole. Who may read it may use them: root and the user of stabd.
#pragma once

#include <string>

#include "base/error.h"
#include "stabd/client/verbs.h"

namespace stab::client {

// A folder stands for the stabd.db in it.
std::string database_named(const std::string& path);

// Copies the database of the daemon, or of `common.state`, to a file that is not there yet; it may be
// written meanwhile. Exits with 5 if the copy is damaged because the original is.
Result<int> backup(const Common& common, const std::string& file);

// No daemon has `from` open, and it stays as it is. Exits with 5 if anything is lost.
Result<int> recover(const Common& common, const std::string& from, const std::string& to);

}  // namespace stab::client
