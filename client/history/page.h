// SPDX-License-Identifier: MIT
// A history as a self-contained HTML file, like that of a report (report/html/page.h).
#pragma once

#include <string>

#include "client/history/series.h"

namespace stab::client::history {

// One picture for each series, up to the limits `most_pictures` and `most_dots` of
// report/html/parts.h.
std::string as_page(const History& history);

}  // namespace stab::client::history
