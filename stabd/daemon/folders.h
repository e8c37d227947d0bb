// SPDX-License-Identifier: MIT
// The folders that the daemon makes, with the rights that they have.
#pragma once

#include <string>

#include "base/error.h"

namespace stab::daemon {

// Plans, their output and copies of their sources are their owners' business.
Result<void> make_private_folder(const std::string& path);

// A folder that other users pass through, if we are root: to the socket, to builds of theirs.
// Folders on the way are made, too.
Result<void> make_passable_folder(const std::string& path);

// An earlier version made such folders for root alone: the log says how to open it.
void warn_if_closed(const std::string& path);

}  // namespace stab::daemon
