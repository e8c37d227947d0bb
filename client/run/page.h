// SPDX-License-Identifier: MIT
// The report of a run as a page, in a file that the user names before the run.
#pragma once

#include <string>

#include "base/error.h"
#include "client/stored.h"

namespace stab::client {

// An error if the file could not be written now: nobody should measure for hours to hear of it.
// "": no page is asked for, which is good.
Result<void> check_page(const std::string& path);

// Nothing if no page is asked for.
Result<void> write_page(const Analysed& analysed, const std::string& path);

}  // namespace stab::client
