// SPDX-License-Identifier: MIT
// The file of settings: it says what runs with the daemon's rights, so nobody else may write it.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace stab::settings {

// Its text; nothing if there is none that can be reached. An error if it cannot be read, is not a
// file of ours or root's, or others may write it.
Result<std::optional<std::string>> load(const std::string& path);

}  // namespace stab::settings
