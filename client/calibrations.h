// SPDX-License-Identifier: MIT
// `stabctl run` gives each experiment a database of its own, so a file in the user's folder carries
// the results of calibrations from one database to the next.
#pragma once

#include <string>

#include "base/error.h"
#include "client/client.h"

namespace stab::client {

// calibrations.json in the user's default state directory.
std::string calibrations_file();

// Sends the calibrations in the file to the daemon. A missing file has no calibrations.
Result<void> tell_calibrations(Client& client, const std::string& path);

// Writes the daemon's calibrations to the file, and keeps those of machines that only the file has.
Result<void> keep_calibrations(Client& client, const std::string& path);

}  // namespace stab::client
