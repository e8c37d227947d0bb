// SPDX-License-Identifier: MIT
// Reads the settings file. It says what runs with the daemon's rights, so nobody else may write it.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace stab::settings {

// Returns the file's text, or nullopt if there is no file that we can reach. It is an error if the
// file can't be read, does not belong to this user or root, or may be written by others.
Result<std::optional<std::string>> load(const std::string& path);

}  // namespace stab::settings
