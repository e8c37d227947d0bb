// SPDX-License-Identifier: MIT
// Where results go.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace stab::client {

// A terminal, and NO_COLOR is not set.
bool wants_colour();

// To the file, or to stdout if `path` is "" or "-". A reader that has gone (as `head`) is no error.
Result<void> write_output(std::string_view text, const std::string& path);

}  // namespace stab::client
