// SPDX-License-Identifier: MIT
// `stabctl run` gives each experiment a database of its own. What calibrations found of this
// machine is carried from one to the next in a file of the user's.
#pragma once

#include <string>

#include "base/error.h"
#include "client/client.h"

namespace stab::client {

// calibrations.json in the user's default state directory.
std::string calibrations_file();

// Tells the daemon what the file knows. A file that is not there is nothing to tell.
Result<void> tell_calibrations(Client& client, const std::string& path);

// Writes what the daemon knows, together with what the file has of other machines.
Result<void> keep_calibrations(Client& client, const std::string& path);

}  // namespace stab::client
