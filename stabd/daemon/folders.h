// SPDX-License-Identifier: MIT
// Makes the daemon's folders with the right permissions.
#pragma once

#include <string>

#include "base/error.h"

namespace stab::daemon {

// Makes a folder that only its owner may enter, because plans, their output and copies of their
// sources are private.
Result<void> make_private_folder(const std::string& path);

// Makes a folder and its missing parents. If we are root, other users may pass through it to the
// socket or to their builds.
Result<void> make_passable_folder(const std::string& path);

// An earlier version made such folders for root alone. If this folder is one, logs how to open it.
void warn_if_closed(const std::string& path);

// The path of the database in the state folder.
std::string database_in(const std::string& state_folder);

}  // namespace stab::daemon
