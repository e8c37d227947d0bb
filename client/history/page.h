// SPDX-License-Identifier: MIT
// A history as one HTML file that needs nothing else, as reports have theirs (report/html/page.h).
#pragma once

#include <string>

#include "client/history/series.h"

namespace stab::client::history {

// A picture for each series, of at most `most_pictures` and `most_dots` of report/html/parts.h.
std::string as_page(const History& history);

}  // namespace stab::client::history
