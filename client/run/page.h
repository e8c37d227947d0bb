// SPDX-License-Identifier: MIT
// The report of a run as a page, in a file that the user names before the run.
#pragma once

#include <string>

#include "base/error.h"
#include "client/stored.h"

namespace stab::client {

// Fails if the file could not be written now, so that the user does not learn it after hours of
// measuring. Succeeds for "", which stands for no page.
Result<void> check_page(const std::string& path);

// Does nothing if `path` is "".
Result<void> write_page(const Analysed& analysed, const std::string& path);

}  // namespace stab::client
